"""The demo's automations, as their author would write them.

Loaded by the demo's workers and server as ``tenure.cli.demo.automations:app``.  The addresses are
those of emulated providers, told by the demo in the environment; without it they lead nowhere, and
never to the real ones.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from tenure import Bearer, Context, Provider, Tenure, env

T = TypeVar("T")

app = Tenure()


def _emulated(name: str) -> Provider:
    """A provider of the catalogue, limits and keys and all, at an address of this machine."""
    return app.provider(
        name,
        base_url=os.environ.get(f"DEMO_{name.upper()}_URL", "http://127.0.0.1:9"),
        auth=Bearer(env(f"DEMO_{name.upper()}_KEY")),
        allow=("plain-http", "private-address"),
    )


stripe = _emulated("stripe")
crm = _emulated("hubspot")
mailer = _emulated("resend")

payments = app.source("stripe", scheme="stripe", secret=env("DEMO_STRIPE_SECRET"))
leads = app.source("leads", scheme="standard-webhooks", secret=env("DEMO_LEADS_SECRET"))


# -- what comes in ---------------------------------------------------------------------------------


@dataclass
class Content(Generic[T]):
    """What an event is about, as Stripe wraps it."""

    object: T


@dataclass
class StripeEvent(Generic[T]):
    """The parts of Stripe's events that are used here."""

    id: str
    type: str
    data: Content[T]


@dataclass
class Buyer:
    """Who pays."""

    name: str
    email: str


@dataclass
class Checkout:
    """A finished checkout; amounts in the currency's smallest unit."""

    id: str
    amount_total: int
    currency: str
    customer_details: Buyer


@dataclass
class Charge:
    """A charge, here one that was refunded."""

    id: str
    amount_refunded: int
    currency: str
    receipt_email: str


@dataclass
class Anybody:
    """Any object that belongs to somebody with an address."""

    id: str
    email: str = ""
    customer_email: str = ""


@dataclass
class Lead:
    """What somebody wrote into the form."""

    id: str
    name: str
    email: str
    company: str
    amount: float


@dataclass
class Filled:
    """A filled form, as it is delivered."""

    type: Literal["lead.created"]
    data: Lead


# -- what is done about it -------------------------------------------------------------------------


@app.automation(on=payments["checkout.session.completed"], lane=crm)
async def order(ctx: Context, event: StripeEvent[Checkout]) -> None:
    """A paid order becomes a deal, and the buyer gets a receipt."""
    paid = event.data.object
    deal = await ctx.http(crm).post(
        "/crm/v3/objects/deals",
        step="deal",
        json={
            "properties": {
                "dealname": f"Order by {paid.customer_details.name}",
                "amount": f"{paid.amount_total / 100:.2f}",
                "dealstage": "closedwon",
                "stripe_event": event.id,
            }
        },
    )
    number = _id(deal.json())
    text = f"Thank you for {money(paid.amount_total, paid.currency)}. Your order is {number}."
    await mail(ctx, paid.customer_details.email, "Your receipt", text, event.id)


@app.automation(on=payments["charge.refunded"], lane=stripe)
async def refund(ctx: Context, event: StripeEvent[Charge]) -> None:
    """A refund is marked at Stripe, noted in the CRM, and told to the buyer."""
    charge = event.data.object
    returned = money(charge.amount_refunded, charge.currency)
    await ctx.http(stripe).post(
        f"/v1/charges/{charge.id}",
        operation="/v1/charges/{id}",
        step="mark",
        data={"metadata[refund_told]": event.id},
    )
    await ctx.http(crm).post(
        "/crm/v3/objects/notes",
        step="note",
        json={
            "properties": {
                "hs_note_body": f"{returned} of {charge.id} went back.",
                "hs_timestamp": ctx.now().isoformat(),
                "stripe_event": event.id,
            }
        },
    )
    await mail(ctx, charge.receipt_email, "Your refund", f"{returned} is on its way.", event.id)


@app.automation(on=leads, lane=crm)
async def lead(ctx: Context, form: Filled) -> None:
    """A lead becomes a contact; of a big one the owner is told at once."""
    somebody = form.data
    await ctx.http(crm).post(
        "/crm/v3/objects/contacts",
        step="contact",
        json={
            "properties": {
                "email": somebody.email,
                "firstname": somebody.name,
                "company": somebody.company,
                "lead_id": somebody.id,
            }
        },
    )
    if ctx.decide("big-deal", somebody.amount > 10_000):
        text = f"{somebody.name} of {somebody.company} asks for {somebody.amount:,.0f}."
        await mail(ctx, "owner@shop.example", "A big lead", text, somebody.id)


@app.automation(on=[payments["customer.created"], payments["invoice.payment_failed"]])
async def digest(ctx: Context, event: StripeEvent[Anybody]) -> None:
    """A line for the owner's digest: new, so it runs dry and sends nothing yet."""
    about = event.data.object
    text = f"{event.type}: {about.email or about.customer_email}"
    await mail(ctx, "owner@shop.example", "Today", text, event.id)


async def mail(ctx: Context, to: str, subject: str, text: str, about: str) -> None:
    """One mail, tagged with what it is about."""
    await ctx.http(mailer).post(
        "/emails",
        step="mail",
        json={
            "from": "Shop <shop@shop.example>",
            "to": [to],
            "subject": subject,
            "text": text,
            "tags": [{"name": "about", "value": about}],
        },
    )


def money(amount: int, currency: str) -> str:
    """An amount in the smallest unit as people read it."""
    return f"{amount / 100:.2f} {currency.upper()}"


def _id(answer: object) -> str:
    return str(answer.get("id", "")) if isinstance(answer, dict) else ""
