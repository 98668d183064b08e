"""One call under way: what of it is recorded, and what will leave.

Shared by the rooms that decide about it: ``doubt`` (what is remembered), ``outbound`` (gate and
carrier), ``meaning`` (what came of it).  Promises: record and wire show one request; secret values
stand in the record as marks, and are put back before it leaves again.
"""

from __future__ import annotations

import hashlib
from uuid import uuid4

import msgspec

from tenure.base import clock, conceal, redact
from tenure.base.http import Request, Response
from tenure.base.keys import child_key, wire
from tenure.base.model import Asked, CallState, Outcome, Send
from tenure.flow import places
from tenure.flow.call import Call
from tenure.flow.carriers import Outgoing
from tenure.flow.desk import Taken
from tenure.flow.run import Run, Suspension, Waiting

# Bodies above this are kept by their digest alone.
STORED_BODY = 256 * 1024
_DEFAULT_WINDOW = 2.0


class Course:
    """The state of one call of one run."""

    def __init__(self, run: Run, call: Call, step: str) -> None:
        """Nothing is asked of anybody yet; raises ``MissingSecret`` for a missing credential."""
        self.run = run
        self.call = call
        self.step = step
        self.sent = run.memory.sends.get(step)
        self.begin(self.sent.epoch if self.sent else 0)
        self.takes: list[Taken] = []
        self.asked: Asked | None = None
        self.admitted = 0.0
        self.waited = 0.0
        self.voids = 0
        self.throttles = 0
        secrets: dict[str, str] = getattr(call.provider.auth, "secrets", dict)()
        self._hidden = conceal.of(secrets)

    def begin(self, epoch: int) -> None:
        """Go on in an epoch, under its key."""
        self.epoch = epoch
        self.key = child_key(self.run.job.id, self.step, epoch)
        rule = self.call.rule
        self.wire_key = None if self.call.safe else wire(self.key, rule.form if rule else "hex64")
        request = self.call.request
        self.built = places.placed(request, rule, self.wire_key) if self.wire_key else request
        self.request = self.built

    @property
    def fresh(self) -> bool:
        """Whether a repeat could not be absorbed, so that no tired connection may carry it."""
        return not self.call.safe and self.call.rule is None

    def ask(self, number: int) -> Asked:
        """The call as it is put to the gate and on record, as the step's send of that number."""
        call, job = self.call, self.run.job
        body = self._hidden.hide(self.request.body)
        return Asked(
            job=job.id,
            fence=job.fence,
            step=self.step,
            send=number,
            send_id=uuid4(),
            safe=call.safe,
            provider=call.provider.name,
            account=call.provider.account,
            operation=call.operation,
            method=self.request.method,
            url=self._hidden.hide_text(self.request.url),
            headers=self._headers(self.request.headers + self.key_headers()),
            body=body if len(body) <= STORED_BODY else None,
            digest=hashlib.sha256(body).digest(),
            key=self.key,
            epoch=self.epoch,
            wire_key=self.wire_key,
            policy=call.policy,
            send_window=min((take.send_window for take in self.takes), default=_DEFAULT_WINDOW),
            timeout=call.timeout,
            lease=job.lease,
        )

    def key_headers(self) -> tuple[tuple[str, str], ...]:
        """The header that carries the key, where it is a header that does."""
        name = places.header(self.call.rule)
        return ((name, self.wire_key),) if name and self.wire_key else ()

    def outgoing(self) -> Outgoing:
        """What the carrier takes: the request with what it needs to add credentials."""
        provider = self.call.provider
        return Outgoing(
            request=self.request,
            auth=provider.auth,
            timeout=self.call.timeout,
            fresh=self.fresh,
            hosts=provider.hosts,
            allow=provider.allow,
            key=self.key,
        )

    def restore(self, sent: Send) -> bool:
        """Take the stored request in place of the new one; False where its bytes are not to be had.

        Method, URL and body are those of the first send; headers are made anew.
        """
        anew = self.ask(sent.send + 1)
        if (anew.method, anew.url, anew.digest) == (sent.method, sent.url, sent.body_digest):
            return True
        if sent.body is None:
            return False
        self.request = Request(
            method=sent.method,
            url=self._hidden.reveal(sent.url.encode()).decode(),
            headers=self.built.headers,
            body=self._hidden.reveal(sent.body),
        )
        return True

    @property
    def drifted(self) -> bool:
        """Whether the stored request was taken because this run built another one."""
        return self.request is not self.built

    async def record(
        self,
        asked: Asked,
        state: CallState,
        response: Response | None = None,
        why: str | None = None,
        *,
        stored: bool = False,
    ) -> None:
        """Record what came of a send; unwinds where the claim is over, leaving evidence."""
        outcome = Outcome(
            job=asked.job,
            fence=asked.fence,
            send_id=asked.send_id,
            step=asked.step,
            send=asked.send,
            state=state,
            status=response.status if response else None,
            answer_headers=self._headers(response.headers) if response else None,
            answer=self._hidden.hide(response.body) if response else None,
            why=self._hidden.hide_text(why) if why else why,
            stored=stored,
        )
        if asked.safe or state == "suppressed":
            age = clock.now() - self.admitted if self.admitted else 0.0
            current = await self.run.desk.closed(asked, self.takes, age, outcome)
        else:
            current = await self.run.desk.outcome(outcome)
        if not current:
            raise Waiting(Suspension("lost"))

    async def tell(self, sent: Send, state: CallState, response: Response | None, why: str) -> None:
        """Record what a probe found of a send; unwinds where the claim is over."""
        outcome = Outcome(
            job=self.run.job.id,
            fence=self.run.job.fence,
            send_id=sent.send_id,
            step=sent.step,
            send=sent.send,
            state=state,
            status=response.status if response else None,
            answer_headers=self._headers(response.headers) if response else None,
            answer=self._hidden.hide(response.body) if response else None,
            why=why,
            told_by="probe",
        )
        if not await self.run.desk.outcome(outcome):
            raise Waiting(Suspension("lost"))

    def _headers(self, headers: tuple[tuple[str, str], ...]) -> str:
        return msgspec.json.encode(redact.headers(headers, self._hidden)).decode()

    def remembered(self, sent: Send) -> Response:
        """The answer of a send as it was recorded, with what was concealed put back."""
        headers = msgspec.json.decode(sent.answer_headers or "[]", type=tuple[tuple[str, str], ...])
        return Response(sent.status or 0, headers, self._hidden.reveal(sent.answer or b""))

    def held(self, send: Send | Asked, why: str, *, status: int | None = None) -> Suspension:
        """The suspension that asks a person what became of a send; ``status``: its answer's."""
        if isinstance(send, Send):
            status = send.status
        came = "nobody knows what came of it" if status is None else "its answer does not tell"
        question = (
            f"Did {send.method} {send.url} happen? It was sent to {send.provider} under key "
            f"{send.key[:12]}… and {came}: {why}."
        )
        return Suspension("hold", question=question, step=self.step, send_id=send.send_id)
