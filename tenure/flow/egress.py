"""Where a call may go: which URLs are callable, and which address of a host is.

Owned here are the rules that keep a call from being turned against the inside of the house.  The
carrier asks ``check`` for every call and ``resolve`` for every connection that it opens, and then
connects to the address it was given, so a name that changes its mind between the check and the
connection (DNS rebinding) changes nothing.

``allow`` holds the exceptions of one provider by name: ``plain-http``, ``private-address``,
``metadata-address``.  Refusals are ``CallForbidden``: nothing has left, and nothing will.
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from concurrent.futures import Future
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from tenure.base.errors import CallForbidden
from tenure.base.passage import passage

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_PORTS = {"http": 80, "https": 443}
_UNSENDABLE = re.compile(r"[^\x21-\x7e]|#")
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_LONGEST_NAME = 253

# Addresses at which clouds hand out credentials.  Some lie in public ranges, and a provider that is
# allowed a private address has no business there: they have an exception of their own.
_METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Google Cloud, Azure, DigitalOcean, OpenStack
        "169.254.170.2",  # AWS ECS task credentials
        "169.254.170.23",  # AWS EKS pod identity
        "168.63.129.16",  # Azure's platform, a public address
        "100.100.100.200",  # Alibaba Cloud
        "192.0.0.192",  # Oracle Cloud
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",  # AWS EKS pod identity
        "fd20:ce::254",  # Google Cloud
    )
)
_INNER_V4 = tuple(map(IPv4Network, ("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24")))
_COMPATIBLE = IPv6Network("::/96")
_GLOBAL_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_INNER_V6 = (IPv6Network("2001::/23"), IPv6Network("2001:db8::/32"), IPv6Network("3fff::/20"))


class Place(msgspec.Struct, frozen=True):
    """Where a URL leads: scheme, lower-case host without brackets, port, path with its query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The value of the ``Host`` header: the port is named only where it is not the scheme's."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


class Address(msgspec.Struct, frozen=True):
    """One address to connect to: the socket family, the literal address and the port."""

    family: int
    host: str
    port: int


def check(url: str, allow: AbstractSet[str] = frozenset()) -> Place:
    """Take a URL apart, or raise ``CallForbidden`` where it cannot be called as it stands."""
    if _UNSENDABLE.search(url):
        raise CallForbidden(
            "the URL holds what no request can carry (a blank, a control or non-ASCII character, "
            "or a fragment): what leaves would not be what was written",
            hint="Percent-encode the path and the query, and leave the fragment away.",
        )
    try:
        parts = urlsplit(url)
        scheme, name, port = parts.scheme.lower(), parts.hostname or "", parts.port
    except ValueError as error:
        raise CallForbidden(f"the URL cannot be read ({error}): it leads nowhere") from error
    _check_scheme(scheme, name, allow)
    if "@" in parts.netloc:
        raise CallForbidden(
            f"the URL carries a user or password (at {name}): it would be stored with the call",
            hint="Give the credential to the provider with auth=.",
        )
    _check_name(name)
    if port == 0:
        raise CallForbidden(f"the URL names port 0 (at {name}): nothing listens there")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Place(scheme, name, port or _PORTS[scheme], target)


def _check_scheme(scheme: str, name: str, allow: AbstractSet[str]) -> None:
    if scheme not in _PORTS:
        raise CallForbidden(
            f"the URL is not an HTTP one ({scheme or 'no scheme'}): only https is called",
            hint="Write the whole URL, or give the provider a base_url.",
        )
    if scheme == "http" and "plain-http" not in allow:
        raise CallForbidden(
            f"the URL is plain HTTP (http://{name}): anybody on the way reads and changes the call",
            hint="Use https, or allow it for this provider with allow={'plain-http'}.",
        )


def _check_name(name: str) -> None:
    if ":" in name:
        return  # urlsplit took it from brackets; what is no address there is refused as one
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise CallForbidden(
            f"the URL names no host ({name[:80]!r}): there is nothing to look up",
            hint="Write a host name or an address; international names in their xn-- form.",
        )


async def resolve(
    host: str, port: int, allow: AbstractSet[str] = frozenset()
) -> tuple[Address, ...]:
    """The addresses of a host that may be called, in the system's order, at least one.

    Looks the name up once, in a thread of its own, so that neither the event loop nor the threads
    of handlers wait for it.  Raises ``CallForbidden`` where every address is forbidden, and
    ``OSError`` where the name leads nowhere.
    """
    found = await _lookup(host, port)
    reasons = {address.host: refusal(ip_address(address.host), allow) for address in found}
    allowed = tuple(address for address in found if reasons[address.host] is None)
    if allowed:
        return allowed
    where = ", ".join(f"{address}: {reason}" for address, reason in sorted(reasons.items()))
    name = "metadata-address" if "metadata" in where else "private-address"
    raise CallForbidden(
        f"the host leads inside ({host} is {where}): calls go to public addresses only",
        hint=f"If this provider really stands there, allow it with allow={{{name!r}}}.",
    )


async def _lookup(host: str, port: int) -> list[Address]:
    """Ask the system in a daemon thread: a resolver that hangs holds up nothing else."""
    answer: Future[list[Address]] = Future()

    def look() -> None:
        if not answer.set_running_or_notify_cancel():
            return
        try:
            with passage():
                found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            both = [entry for entry in found if entry[0] in (socket.AF_INET, socket.AF_INET6)]
            addresses = [Address(entry[0], str(entry[4][0]), port) for entry in both]
            answer.set_result(list(dict.fromkeys(addresses)))
        except (OSError, ValueError) as error:
            answer.set_exception(error)

    threading.Thread(target=look, daemon=True, name="tenure-lookup").start()
    return await asyncio.wrap_future(answer)


def refusal(address: IPv4Address | IPv6Address, allow: AbstractSet[str]) -> str | None:
    """Why an address may not be called, in words; None where it may.

    An IPv4 address that an IPv6 one carries (mapped, compatible, 6to4, NAT64) counts as itself,
    because that is where the connection would end.
    """
    inner = _carried(address)
    if inner is not None:
        return refusal(inner, allow)
    if address in _METADATA:
        return None if "metadata-address" in allow else "a metadata address"
    if "private-address" in allow or _is_public(address):
        return None
    return "a private address"


def _carried(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 0xFFFF):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Stricter than ``is_global``, whose ranges differ between patch releases of Python."""
    if address.is_multicast or address.is_reserved or not address.is_global:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _INNER_V4)
    return address in _GLOBAL_V6 and not any(address in network for network in _INNER_V6)
