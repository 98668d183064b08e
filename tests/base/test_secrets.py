"""Secrets are read where they are, when they are needed, and shown to nobody."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tenure.base.errors import ConfigurationError, MissingSecret
from tenure.base.secrets import Auth, Basic, Bearer, Header, SecretRef, env, file, parse


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret in the environment."""
    monkeypatch.setenv("CRM_TOKEN", "hush-hush")


def test_a_reference_is_text_and_back() -> None:
    """References are written into rows as text and lead to the same secret from there."""
    for ref, text in ((env("CRM_TOKEN"), "env:CRM_TOKEN"), (file("/run/x"), "file:/run/x")):
        assert ref.reference == text
        assert parse(text) == ref


@pytest.mark.parametrize("text", ["", "hush-hush", "CRM_TOKEN", "vault:x"])
def test_what_is_no_reference_is_refused_unseen(text: str) -> None:
    """A secret put where its reference belongs is refused, and not repeated in the message."""
    with pytest.raises(ConfigurationError, match="not a reference") as caught:
        parse(text)
    assert not text or text not in str(caught.value)


@pytest.mark.parametrize("name", ["", "A=B", "a\nb", "a\0b", "a{b}", "a|b"])
def test_a_name_that_leads_nowhere_is_refused(name: str) -> None:
    """Names hold nothing that an environment, a file system or a mark could not."""
    with pytest.raises(ConfigurationError, match="not a reference"):
        env(name)


def test_the_environment_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret that changes is seen as it is now."""
    ref = env("CRM_TOKEN")
    assert ref.read() == "hush-hush"
    monkeypatch.setenv("CRM_TOKEN", "other")
    assert ref.read() == "other"


@pytest.mark.parametrize(
    ("content", "value"),
    [(b"a", "a"), (b"a\n", "a"), (b"a\r\n", "a"), (b"a\n\n", "a\n"), (b" a ", " a ")],
)
def test_a_file_loses_one_line_break(tmp_path: Path, content: bytes, value: str) -> None:
    """Editors end files with a line break; anything more belongs to the secret."""
    path = tmp_path / "secret"
    path.write_bytes(content)
    assert file(str(path)).read() == value


def test_a_missing_secret_says_how_to_set_it(tmp_path: Path) -> None:
    """The message names the variable or file, and the hint says what to do with it."""
    absent = tmp_path / "absent"
    for ref, name in ((env("NO_SUCH_TOKEN"), "NO_SUCH_TOKEN"), (file(str(absent)), str(absent))):
        with pytest.raises(MissingSecret) as caught:
            ref.read()
        assert name in caught.value.message
        assert name in caught.value.hint


def test_a_secret_that_is_no_text_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Empty and undecodable secrets are refused, and their bytes are not quoted."""
    path = tmp_path / "secret"
    for content, says in ((b"", "is empty"), (b"\n", "is empty"), (b"hush\xff", "not UTF-8")):
        path.write_bytes(content)
        with pytest.raises(MissingSecret, match=says) as caught:
            file(str(path)).read()
        assert "hush" not in f"{caught.value!r} {caught.value.__cause__!r}"
    monkeypatch.setenv("CRM_TOKEN", "hush\udcff")
    with pytest.raises(MissingSecret, match="not UTF-8"):
        env("CRM_TOKEN").read()
    with pytest.raises(MissingSecret, match="cannot be read"):
        file(str(tmp_path)).read()


def test_credentials_are_made_when_asked_for() -> None:
    """Each kind gives its header, and the values to be concealed by name."""
    basic = base64.b64encode(b"us\xc3\xa9r:hush-hush").decode()
    made: list[tuple[Auth, tuple[str, str]]] = [
        (Bearer(env("CRM_TOKEN")), ("Authorization", "Bearer hush-hush")),
        (Basic("usér", env("CRM_TOKEN")), ("Authorization", f"Basic {basic}")),
        (Header("X-Api-Key", env("CRM_TOKEN")), ("X-Api-Key", "hush-hush")),
    ]
    for auth, header in made:
        assert auth.headers() == [header]
        assert auth.secrets() == {"CRM_TOKEN": "hush-hush"}


def test_the_user_may_be_a_secret_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the user's name is a key, both are read and both are concealed."""
    monkeypatch.setenv("CRM_USER", "key-1")
    auth = Basic(env("CRM_USER"), env("CRM_TOKEN"))
    [(_, value)] = auth.headers()
    assert base64.b64decode(value.removeprefix("Basic ")) == b"key-1:hush-hush"
    assert auth.secrets() == {"CRM_USER": "key-1", "CRM_TOKEN": "hush-hush"}


@pytest.mark.parametrize(
    "value",
    ["hush\r\nX-Evil: 1", "hush\n", "hush\r", "hush\tx", " hush", "hush ", "hush“x", "\x7f"],
)
def test_a_secret_cannot_split_a_header(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """What could begin another header, or would arrive changed, is refused unseen."""
    monkeypatch.setenv("CRM_TOKEN", value)
    for auth in (Bearer(env("CRM_TOKEN")), Header("X-Api-Key", env("CRM_TOKEN"))):
        with pytest.raises(ConfigurationError, match="env:CRM_TOKEN") as caught:
            auth.headers()
        assert "hush" not in str(caught.value)


def test_nul_cannot_stand_in_a_header(tmp_path: Path) -> None:
    """A file can hold NUL where the environment cannot; it is refused all the same."""
    path = tmp_path / "secret"
    path.write_bytes(b"hush\0hush")
    for auth in (Bearer(file(str(path))), Basic("user", file(str(path)))):
        with pytest.raises(ConfigurationError, match="file:"):
            auth.headers()


@pytest.mark.parametrize(("user", "value"), [("a:b", "x"), ("a\n", "x"), ("a", "x\r\ny")])
def test_basic_credentials_stay_two_things(
    monkeypatch: pytest.MonkeyPatch, user: str, value: str
) -> None:
    """A colon in the user or a control character in either is refused."""
    monkeypatch.setenv("CRM_TOKEN", value)
    with pytest.raises(ConfigurationError, match="cannot be sent"):
        Basic(user, env("CRM_TOKEN")).headers()


@pytest.mark.parametrize("name", ["", "X Key", "X-Key:", "X\r\nY", "Schlüssel"])
def test_a_header_has_a_headers_name(name: str) -> None:
    """A name that no header may have is refused when it is declared."""
    with pytest.raises(ConfigurationError, match="not the name of a header"):
        Header(name, env("CRM_TOKEN"))


def test_no_representation_shows_a_value() -> None:
    """References and credentials show where a secret is, never what it is."""
    shown: list[SecretRef | Auth] = [env("CRM_TOKEN"), Bearer(env("CRM_TOKEN"))]
    shown += [Basic("user", env("CRM_TOKEN")), Header("X-Api-Key", env("CRM_TOKEN"))]
    assert "hush" not in repr(shown) + str(shown)
    assert "CRM_TOKEN" in repr(shown)
