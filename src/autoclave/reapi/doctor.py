"""The cache doctor: all checks of a remote cache in order, each on what the ones before it have shown."""

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

import grpc

from autoclave.errors import AutoclaveError
from autoclave.reapi import settings as options
from autoclave.reapi.capabilities import judge_executor
from autoclave.reapi.client import Client, RemoteError
from autoclave.reapi.findings import Finding, State, failed, option, skipped, warning
from autoclave.reapi.network import Address, authorities, check_address, check_dns, check_tcp, check_tls, speaks_tls
from autoclave.reapi.service import Service, remedy, said
from autoclave.reapi.settings import Settings
from autoclave.reapi.tokens import judge_token, missing_token, read_token

TRANSFER = 3
"""How many times the deadline of a step the large blob may take, each way."""

NOBODY = "not looked at: the server cannot be used, see above"


def examine(settings: Settings, deadline: float, *, required: bool = False) -> Iterator[Finding]:
    """The findings, as they come. `deadline`: seconds that one step may take. `required`: no server is a failure."""
    yield options.use(settings, required)
    if not settings.configured:
        return
    yield from options.values(settings)
    try:
        token = read_token(settings)
        judged = judge_token(token, time.time())
    except AutoclaveError as error:
        token, judged = "", missing_token(error)
    yield judged
    found, address = check_address(settings.remote_store_address)
    yield found
    if address is None:
        return
    if token and not address.tls and not address.local:
        remedy = option("remote_store_address", f"grpcs://{address.target}")
        yield warning("token", "it goes over the network in the clear", remedy)
    if not (yield from _reached(address, settings, deadline)):
        yield skipped("service", NOBODY)
        return
    if judged.state is State.failed and not token:
        yield skipped("service", "not looked at: without its token, Pants does not start")
        return
    yield from _served(address, settings, token, deadline)
    if settings.executes_elsewhere:
        for each in _executor(settings, token, deadline):
            yield _of_executor(each)


def _of_executor(finding: Finding) -> Finding:
    """A finding of the server that executes, under a name of its own, with the option that names that server."""
    fix = finding.fix.replace("remote_store_address", "remote_execution_address")
    fix = fix.replace("REMOTE_STORE_ADDRESS", "REMOTE_EXECUTION_ADDRESS")
    return replace(finding, check=f"exec {finding.check}", fix=fix)


def _executor(settings: Settings, token: str, deadline: float) -> Iterator[Finding]:
    """Whether there is a server that executes, where it is not the one that stores."""
    found, address = check_address(settings.remote_execution_address)
    yield found
    if address is None or not (yield from _reached(address, settings, deadline)):
        return
    with open_channel(address, settings) as channel:
        client = Client(channel, settings.remote_instance_name, options.client_headers(settings, token), deadline)
        try:
            can = client.capabilities()
        except RemoteError as error:
            yield failed("capabilities", said(error), remedy(error))
            return
    yield judge_executor(can)


def _reached(address: Address, settings: Settings, deadline: float) -> Generator[Finding, None, bool]:
    """The steps up to a connection on which calls can be made; returns whether there is one."""
    steps: list[Callable[[], Finding]] = [lambda: check_dns(address, deadline), lambda: check_tcp(address, deadline)]
    if address.tls:
        steps.append(lambda: check_tls(address, settings, deadline, time.time()))
    for step in steps:
        finding = step()
        yield finding
        if finding.state is State.failed:
            return False
    return True


def _served(address: Address, settings: Settings, token: str, deadline: float) -> Iterator[Finding]:
    with open_channel(address, settings) as channel:
        client = Client(channel, settings.remote_instance_name, options.client_headers(settings, token), deadline)
        service = Service(client, settings, patience=TRANSFER * deadline)
        checks = (
            service.capabilities,
            service.instance,
            service.reading,
            service.writing,
            service.small_blob,
            service.large_blob,
            service.action,
        )
        for check in checks:
            for finding in check():
                yield _plain_refused(finding, address, deadline)
            if service.gone:
                yield skipped("service", NOBODY)
                return


def _plain_refused(finding: Finding, address: Address, deadline: float) -> Finding:
    """A server that wants TLS hangs up on who does not speak it; say that instead."""
    hung_up = finding.check == "capabilities" and finding.state is State.failed and "UNAVAILABLE" in finding.seen
    if not hung_up or address.tls or not speaks_tls(address, deadline):
        return finding
    return failed(
        "tls", f"the server at {address.target} speaks TLS", option("remote_store_address", f"grpcs://{address.target}")
    )


def open_channel(address: Address, settings: Settings) -> grpc.Channel:
    """A connection to the server, with TLS if the address says so. Never through a proxy, since Pants uses none."""
    agent = next((v for k, v in settings.remote_store_headers.items() if k.lower() == "user-agent"), "autoclave")
    arguments = (
        ("grpc.enable_http_proxy", 0),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.primary_user_agent", agent),
    )
    if not address.tls:
        return grpc.insecure_channel(address.target, options=arguments)
    credentials = grpc.ssl_channel_credentials(root_certificates=authorities(settings))
    return grpc.secure_channel(address.target, credentials, options=arguments)
