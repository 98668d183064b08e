"""Who calls the control API, and whether the token opens what is asked for.

Used by every endpoint of the API.  Promises: no request goes further without a token that is known,
neither revoked nor expired, and has the scope; a token is looked up by its digest, and is neither
logged nor told back.
"""

from __future__ import annotations

from starlette.requests import Request

from tenure.base.tokens import PREFIX
from tenure.store import tokens
from tenure.store.tokens import Bearing
from tenure.web.connections import Connections
from tenure.web.refusals import Refusal

_LONGEST = 200
_CHALLENGE = 'Bearer realm="tenure"'


class Bearers:
    """The tokens of this database, as callers show them."""

    def __init__(self, connections: Connections) -> None:
        """``connections``: where tokens are looked up, at every request."""
        self._connections = connections

    async def admit(self, request: Request, scope: str) -> Bearing:
        """The token's owner; raises ``Refusal``: 401 without a token, 403 without the scope."""
        token = _shown(request)
        bearing = await self._connections.run(
            lambda database: tokens.find(database, token), repeatable=True
        )
        if bearing is None:
            raise _unauthorised("the token opens nothing", error="invalid_token")
        if scope not in bearing.scopes:
            raise Refusal(
                403,
                f"the token lacks the scope ({scope})",
                hint=f"Use a token that has it: tenure token create --owner NAME --scope {scope}",
                headers={
                    "www-authenticate": f'{_CHALLENGE}, error="insufficient_scope", scope="{scope}"'
                },
            )
        return bearing


def _shown(request: Request) -> str:
    """The token of the one Authorization header; what cannot be one costs no look-up."""
    shown = request.headers.getlist("authorization")
    if not shown:
        raise _unauthorised("no token was shown")
    kind, _, token = shown[0].partition(" ")
    token = token.strip()
    plausible = token.startswith(PREFIX) and token.isascii() and len(token) <= _LONGEST
    if len(shown) > 1 or kind.lower() != "bearer" or not plausible:
        raise _unauthorised("the token opens nothing", error="invalid_token")
    return token


def _unauthorised(message: str, *, error: str = "") -> Refusal:
    return Refusal(
        401,
        message,
        hint="Send the header Authorization: Bearer tnr_…, with a token that is still good.",
        headers={"www-authenticate": f'{_CHALLENGE}, error="{error}"' if error else _CHALLENGE},
    )
