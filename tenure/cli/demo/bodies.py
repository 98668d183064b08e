"""What Stripe and a form would have sent: bodies of the shape and size of real ones.

Called by the replay's plan.  Pure: all that varies comes from a seeded random and the hour that is
given.  Sources: docs.stripe.com/api/events, and the objects it links to; Standard Webhooks 1.0.0.
"""

from __future__ import annotations

import random
import string

from tenure.base import json

API_VERSION = "2025-09-30.clover"

Fields = dict[str, object]

_SIGNS = string.ascii_letters + string.digits
_FIRST = ("Ada", "Bela", "Chidi", "Dana", "Emre", "Fatou", "Gus", "Hana", "Ivo", "June", "Kofi")
_LAST = ("Abe", "Brandt", "Costa", "Diallo", "Engel", "Fox", "Garcia", "Horvat", "Ito", "Jansen")
_FIRMS = ("Acme Tools", "Bright Ovens", "Cedar & Co", "Dune Freight", "Elm Dental", "Fjord Maps")
_WISHES = ("Please call me.", "How soon could you deliver?", "Do you have this in green?")


class Author:
    """Writes bodies; ``now`` is the hour in seconds since 1970 at which they came about."""

    def __init__(self, random_: random.Random, now: int) -> None:
        """Draw everything from this random."""
        self.random = random_
        self._now = now

    def id(self, prefix: str, length: int = 24) -> str:
        """An id as the sender gives them: a prefix and letters and digits."""
        return prefix + "".join(self.random.choices(_SIGNS, k=length))

    def order(self, event: str, charge: Fields) -> bytes:
        """The checkout that a charge belongs to, completed."""
        session: Fields = {
            "id": self.id("cs_test_", 58),
            "object": "checkout.session",
            "amount_subtotal": charge["amount"],
            "amount_total": charge["amount"],
            "client_reference_id": None,
            "currency": charge["currency"],
            "customer": charge["customer"],
            "customer_details": charge["billing_details"],
            "livemode": False,
            "metadata": {},
            "mode": "payment",
            "payment_intent": charge["payment_intent"],
            "payment_method_types": ["card"],
            "payment_status": "paid",
            "status": "complete",
            "success_url": "https://shop.example/thanks",
        }
        return self._event(event, "checkout.session.completed", session)

    def charge(self) -> Fields:
        """A paid charge."""
        name, email = self.person()
        address = {"city": "Porto", "country": "PT", "line1": "Rua 1", "postal_code": "4000-001"}
        return {
            "id": self.id("ch_"),
            "object": "charge",
            "amount": self.random.randrange(900, 60_000),
            "amount_refunded": 0,
            "billing_details": {"address": address, "email": email, "name": name, "phone": None},
            "captured": True,
            "currency": self.random.choice(("eur", "usd", "gbp")),
            "customer": self.id("cus_", 14),
            "livemode": False,
            "metadata": {},
            "paid": True,
            "payment_intent": self.id("pi_"),
            "payment_method_details": {
                "card": {"brand": "visa", "exp_month": 4, "exp_year": 2029, "last4": "4242"},
                "type": "card",
            },
            "receipt_email": email,
            "refunded": False,
            "status": "succeeded",
        }

    def refund(self, event: str, charge: Fields) -> bytes:
        """A charge, refunded whole."""
        refunded = charge | {"amount_refunded": charge["amount"], "refunded": True}
        return self._event(event, "charge.refunded", refunded, before={"amount_refunded": 0})

    def customer(self, event: str) -> bytes:
        """A new customer."""
        name, email = self.person()
        customer: Fields = {
            "id": self.id("cus_", 14),
            "object": "customer",
            "balance": 0,
            "created": self._now,
            "currency": None,
            "delinquent": False,
            "email": email,
            "invoice_prefix": self.id("", 8).upper(),
            "livemode": False,
            "metadata": {},
            "name": name,
            "phone": None,
        }
        return self._event(event, "customer.created", customer)

    def unpaid(self, event: str) -> bytes:
        """An invoice whose payment has failed."""
        name, email = self.person()
        owed = self.random.randrange(900, 20_000)
        invoice: Fields = {
            "id": self.id("in_"),
            "object": "invoice",
            "amount_due": owed,
            "amount_paid": 0,
            "amount_remaining": owed,
            "attempt_count": self.random.randrange(1, 4),
            "attempted": True,
            "billing_reason": "subscription_cycle",
            "collection_method": "charge_automatically",
            "currency": "eur",
            "customer": self.id("cus_", 14),
            "customer_email": email,
            "customer_name": name,
            "livemode": False,
            "next_payment_attempt": self._now + 259_200,
            "status": "open",
        }
        return self._event(event, "invoice.payment_failed", invoice)

    def lead(self, lead: str, *, big: bool) -> bytes:
        """A form that somebody filled in."""
        name, email = self.person()
        asked = self.random.randrange(12_000, 90_000) if big else self.random.randrange(200, 9_000)
        filled = {
            "id": lead,
            "name": name,
            "email": email,
            "company": self.random.choice(_FIRMS),
            "amount": asked,
            "message": self.random.choice(_WISHES),
            "form": "contact",
        }
        return json.encode({"type": "lead.created", "timestamp": self._now, "data": filled})

    def person(self) -> tuple[str, str]:
        """A name and an address of nobody."""
        first, last = self.random.choice(_FIRST), self.random.choice(_LAST)
        return f"{first} {last}", f"{first}.{last}@example.com".lower()

    def _event(self, event: str, type_: str, about: Fields, before: Fields | None = None) -> bytes:
        content: Fields = {"object": about}
        if before is not None:
            content["previous_attributes"] = before
        return json.encode(
            {
                "id": event,
                "object": "event",
                "api_version": API_VERSION,
                "created": self._now,
                "data": content,
                "livemode": False,
                "pending_webhooks": 1,
                "request": {"id": None, "idempotency_key": None},
                "type": type_,
            }
        )
