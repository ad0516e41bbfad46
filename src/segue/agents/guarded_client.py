"""Guarded HTTP client for models that were connected on the page: reaches public addresses and this machine.

An admin of a shared server must not be able to make it call services that trust its network. The client
connects to the address that was checked, with the name in `Host` and in the TLS handshake; redirects are
checked in the same way. Proxies of the environment are not used, because they would resolve names themselves.
"""

import httpx2

from segue.agents.tools.guarded_address import AddressRefused, checked_address

_PORTS = {"http": 80, "https": 443}
_TIMEOUT = httpx2.Timeout(600, connect=5)
"""As the model library's own client: a model may think for minutes, and each request sets its own limit."""


class PrivateAddress(httpx2.ConnectError):
    """The address of a model is not one that the page may set."""


class GuardedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, *, private: bool) -> None:
        self._private = private
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        try:
            address = await checked_address(
                url.host, url.port or _PORTS[url.scheme], private=self._private, loopback=True
            )
        except AddressRefused as refusal:
            raise PrivateAddress(str(refusal), request=request) from refusal
        request.extensions = {**request.extensions, "sni_hostname": url.host}
        request.url = url.copy_with(host=str(address))
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def guarded_client(*, private: bool) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=GuardedTransport(private=private), timeout=_TIMEOUT, trust_env=False, follow_redirects=True
    )
