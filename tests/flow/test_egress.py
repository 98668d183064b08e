"""Calls go where they were meant to go: to public addresses, over https, by readable URLs."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.base.errors import CallForbidden
from tenure.flow.egress import Place, check, refusal, resolve

NOTHING: frozenset[str] = frozenset()
INSIDE = frozenset(("private-address",))


@pytest.mark.parametrize(
    ("url", "place", "authority"),
    [
        (
            "https://API.example.com/a%20b?x=1",
            Place("https", "api.example.com", 443, "/a%20b?x=1"),
            "api.example.com",
        ),
        ("https://x.example", Place("https", "x.example", 443, "/"), "x.example"),
        ("https://x.example:443/", Place("https", "x.example", 443, "/"), "x.example"),
        ("https://x.example:8443?q", Place("https", "x.example", 8443, "/?q"), "x.example:8443"),
        ("https://[2001:4860::1]/a", Place("https", "2001:4860::1", 443, "/a"), "[2001:4860::1]"),
        ("HTTPS://my_host.example./", Place("https", "my_host.example.", 443, "/"), None),
        (
            "https://x.example/{a}|b?q=\"'<>@",
            Place("https", "x.example", 443, "/{a}|b?q=\"'<>@"),
            "x.example",
        ),
    ],
)
def test_url_is_taken_apart_and_not_changed(url: str, place: Place, authority: str | None) -> None:
    """Path and query of a callable URL leave exactly as they were written."""
    assert check(url) == place
    assert check(url).authority == (authority or place.host)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://example.com/", "plain HTTP"),
        ("ftp://example.com/", "ftp"),
        ("file:///etc/passwd", "file"),
        ("//example.com/", "no scheme"),
        ("/deals", "no scheme"),
        ("", "no scheme"),
        ("https://user:hunter2@example.com/", "user or password"),
        ("https://good.example\\@evil.example/", "user or password"),
        ("https://good.example\\.evil.example/", "no host"),
        ("https://example.com/#part", "fragment"),
        ("https://example.com/a b", "blank"),
        ("https://example.com/a\r\nx: y", "control"),
        ("https://exam\tple.com/", "control"),
        ("https://bücher.example/", "non-ASCII"),
        ("https:///path", "no host"),
        ("https://-x.example/", "no host"),
        ("https://a..b/", "no host"),
        ("https://%31.example/", "no host"),
        ("https://" + "a" * 64 + ".example/", "no host"),
        ("https://" + "a." * 130 + "example/", "no host"),
        ("https://x.example:0/", "port 0"),
        ("https://x.example:99999/", "cannot be read"),
        ("https://x.example:port/", "cannot be read"),
        ("https://[::1/", "cannot be read"),
    ],
)
def test_url_that_could_be_misread_is_refused(url: str, why: str) -> None:
    """What servers and parsers read differently, or would store a secret, is not called."""
    with pytest.raises(CallForbidden, match=why) as caught:
        check(url)
    assert "hunter2" not in str(caught.value)


def test_plain_http_is_allowed_by_name() -> None:
    """An exception is named for what it excepts, and the refusal tells that name."""
    with pytest.raises(CallForbidden, match=r"allow=\{'plain-http'\}"):
        check("http://example.com:8080/")
    assert check("http://example.com:8080/", {"plain-http"}).port == 8080


PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.1.1",
    "0.0.0.0",  # noqa: S104 - refused, not bound
    "192.0.0.9",
    "192.88.99.1",
    "198.18.0.1",
    "192.0.2.1",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd12::1",
    "ff02::1",
    "100::1",
    "2001:db8::1",
    "2001::1",
    "3fff::1",
    "5f00::1",
    "64:ff9b:1::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::127.0.0.1",
    "2002:7f00:1::",
    "2002:c0a8:101::1",
    "64:ff9b::10.0.0.1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_address_is_refused_in_every_disguise(address: str) -> None:
    """Addresses of this machine and this network are refused unless the provider stands there."""
    assert refusal(ip_address(address), NOTHING) == "a private address"
    assert refusal(ip_address(address), INSIDE) is None


METADATA = [
    "169.254.169.254",
    "169.254.170.2",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
]


@pytest.mark.parametrize("address", METADATA)
def test_metadata_address_has_an_exception_of_its_own(address: str) -> None:
    """A provider on a private address still has no business with the cloud's credentials."""
    assert refusal(ip_address(address), NOTHING) == "a metadata address"
    assert refusal(ip_address(address), INSIDE) == "a metadata address"
    assert refusal(ip_address(address), {"metadata-address"}) is None


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2002:808:808::1",
    ],
)
def test_public_address_is_called(address: str) -> None:
    """Public addresses pass, also where a translation writes them as IPv6."""
    assert refusal(ip_address(address), NOTHING) is None


@given(st.ip_addresses(v=4))
def test_mapped_address_is_judged_as_what_it_carries(address: object) -> None:
    """No IPv6 notation of an IPv4 address gets another verdict than the address itself."""
    plain = ip_address(str(address))
    verdict = refusal(plain, NOTHING)
    for prefix in (0xFFFF << 32, int(ip_address("64:ff9b::"))):
        assert refusal(ip_address(prefix + int(plain)), NOTHING) == verdict
    six_to_four = (0x2002 << 112) + (int(plain) << 80) + 1
    assert refusal(ip_address(six_to_four), NOTHING) == verdict


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "0x7f.1", "2130706433", "::1"])
def test_name_that_leads_inside_is_refused_and_told(host: str) -> None:
    """Whatever way a host is written, the address that it leads to decides."""
    with pytest.raises(CallForbidden, match="private-address") as caught:
        asyncio.run(resolve(host, 443))
    assert host in str(caught.value)


def test_allowed_host_gives_addresses_to_connect_to() -> None:
    """A host that may be called is given as literal addresses, each once, with the port."""
    found = asyncio.run(resolve("127.0.0.1", 8080, INSIDE))
    assert [(address.family, address.host, address.port) for address in found] == [
        (socket.AF_INET, "127.0.0.1", 8080)
    ]


def test_name_that_leads_nowhere_is_an_os_error() -> None:
    """A failed lookup is told apart from a refusal."""
    with pytest.raises(OSError, match=r".+"):
        asyncio.run(resolve("nowhere.invalid", 443))
