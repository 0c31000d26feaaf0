"""Tokens: what a server is to accept as one, and texts that would give one away."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import unquote

from minmargin.errors import InputError

TOKEN_VARIABLE = "LABEL_STUDIO_API_KEY"  # noqa: S105 - the variable's name, not a token

# So many letters and digits in a row are a part of a token: in words that can be left out, and in addresses, which
# have to be told if they can. Ports and words are shorter.
_FEW, _MANY = 4, 8


def checked_token(token: str) -> str:
    """Return a token without the spaces around it, or say that it is none."""
    token = token.strip()
    if not token:
        raise InputError(
            f"There is no token for Label Studio. Copy one from its page Account & Settings into the environment "
            f"variable {TOKEN_VARIABLE}."
        )
    if not re.fullmatch(r"[!-~]+", token):
        raise InputError(
            f"The token for Label Studio holds characters that no token has. Copy it again into {TOKEN_VARIABLE}."
        )
    return token


def is_personal(token: str) -> bool:
    """Return whether a token is a personal access token: a JSON Web Token, which buys short-lived ones."""
    parts = token.split(".")
    if len(parts) != 3:
        return False
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(claims, dict)


class Secrets:
    """The tokens that are in use. No message may show one, or a part of it, in whatever way it is written."""

    def __init__(self, token: str) -> None:
        self._tokens = [token]

    def add(self, token: str) -> None:
        """Keep one more token to oneself."""
        self._tokens.append(token)

    def are_in(self, words: str) -> bool:
        """Return whether a server's words repeat a part of a token.

        >>> secrets = Secrets("s3cr3t-t0k3n")
        >>> [secrets.are_in(words) for words in ("No token.", "No S3CR.", "No %73%33cr3t.", "No t-t 0 k.")]
        [False, True, True, True]
        """
        return self._shares(words, _FEW)

    def are_in_address(self, address: str) -> bool:
        """Return whether an address repeats a larger part of a token."""
        return self._shares(address, _MANY)

    def _shares(self, text: str, length: int) -> bool:
        forms = {text, unquote(unquote(text)), html.unescape(text)}
        return any(
            _share(write(token), write(form), length)
            for write in (_solid, _letters)
            for token in self._tokens
            for form in forms
        )


def _share(token: str, text: str, length: int) -> bool:
    """Return whether a text has so many characters in a row of a token, forwards or backwards."""
    parts = {token[start : start + length] for start in range(max(1, len(token) - length + 1))}
    return any(part and (part in text or part[::-1] in text) for part in parts)


def _solid(text: str) -> str:
    """Return a text in lower case and without blanks."""
    return "".join(text.lower().split())


def _letters(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return re.sub(r"[^0-9a-z]", "", text.lower())
