"""Schemes of other senders, written as data, and the examples that senders publish."""

from __future__ import annotations

from tenure.base.schemes import (
    InBody,
    InField,
    InHeader,
    Key,
    Method,
    RawBody,
    Scheme,
    Signature,
    Text,
    Timestamp,
    Url,
)

SLACK = Scheme(
    name="slack",
    signature=Signature(places=(InHeader("X-Slack-Signature"),), joint="=", name="v0"),
    signed=(Text("v0:"), InHeader("X-Slack-Request-Timestamp"), Text(":"), RawBody()),
    timestamp=Timestamp(place=InHeader("X-Slack-Request-Timestamp")),
    event_id=(InBody("event_id"),),
)
SQUARE = Scheme(
    name="square",
    signature=Signature(places=(InHeader("x-square-hmacsha256-signature"),), encoding="base64"),
    signed=(Url(), RawBody()),
    event_id=(InBody("event_id"),),
)
HUBSPOT_V1 = Scheme(
    name="hubspot-v1",
    algorithm="sha256-concat",
    signature=Signature(places=(InHeader("X-HubSpot-Signature"),)),
)
HUBSPOT_V2 = Scheme(
    name="hubspot-v2",
    algorithm="sha256-concat",
    signature=Signature(places=(InHeader("X-HubSpot-Signature"),)),
    signed=(Method(), Url(), RawBody()),
)
HUBSPOT_V3 = Scheme(
    name="hubspot-v3",
    signature=Signature(places=(InHeader("X-HubSpot-Signature-v3"),), encoding="base64"),
    signed=(Method(), Url(), RawBody(), InHeader("X-HubSpot-Request-Timestamp")),
    timestamp=Timestamp(place=InHeader("X-HubSpot-Request-Timestamp"), unit="ms", future=300.0),
)
BOX = Scheme(
    name="box",
    signature=Signature(
        places=(InHeader("BOX-SIGNATURE-PRIMARY"), InHeader("BOX-SIGNATURE-SECONDARY")),
        encoding="base64",
    ),
    signed=(RawBody(), InHeader("BOX-DELIVERY-TIMESTAMP")),
    timestamp=Timestamp(place=InHeader("BOX-DELIVERY-TIMESTAMP"), unit="iso8601", past=600.0),
)
MAILGUN = Scheme(
    name="mailgun",
    signature=Signature(places=(InBody("signature.signature"),)),
    signed=(InBody("signature.timestamp"), InBody("signature.token")),
    timestamp=Timestamp(place=InBody("signature.timestamp")),
    event_id=(InBody("signature.token"),),
)
TOKEN = Scheme(
    name="token",
    algorithm="shared",
    signature=Signature(places=(InHeader("X-Gitlab-Token"),), encoding="plain"),
    signed=(),
    event_id=(InHeader("X-Gitlab-Event-UUID"),),
)
LINEAR = Scheme(
    name="linear",
    signature=Signature(places=(InHeader("Linear-Signature"),)),
    timestamp=Timestamp(place=InBody("webhookTimestamp"), unit="ms", past=60.0),
    event_id=(InHeader("Linear-Delivery"),),
)
ONFLEET = Scheme(
    name="onfleet",
    algorithm="hmac-sha512",
    key=Key(encoding="hex"),
    signature=Signature(places=(InHeader("X-Onfleet-Signature"),)),
)
CALENDLY = Scheme(
    name="calendly",
    signature=Signature(
        places=(InHeader("Calendly-Webhook-Signature"),), separator=",", joint="=", name="v1"
    ),
    signed=(InField("t"), Text("."), RawBody()),
    timestamp=Timestamp(place=InField("t")),
)

FOREIGN = (
    SLACK,
    SQUARE,
    HUBSPOT_V1,
    HUBSPOT_V2,
    HUBSPOT_V3,
    BOX,
    MAILGUN,
    TOKEN,
    LINEAR,
    ONFLEET,
    CALENDLY,
)
