"""The tools for programs that reason: what they answer, what they may read, and how they are served."""

import asyncio
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.cli._agent import tools

mcp = pytest.importorskip("mcp")

NEXT = """
[[next]]
name = "as much again"
seconds = 10
rows = 40
"""


@pytest.fixture
def folder(tmp_path, write_peaks):
    rows = np.random.default_rng(0).normal(size=(40, 8))
    (tmp_path / "p").mkdir()
    write_peaks(tmp_path / "p", more=NEXT, deployment=rows)
    return tmp_path


def test_identify_verify_and_next_answer(folder):
    identify, verify, next_ = tools(folder)
    answer = identify("p")
    assert answer["format"] == "physupport answer"
    assert CliRunner().invoke(app, ["run", str(folder / "p")]).exit_code == 0
    found = verify("p/report/report.json", {"deployment": "p/deployment.npy"})
    assert found["verified"]
    assert found["rows scored"]
    assert identify("p/project.toml")["digest"] == answer["digest"]
    assert {*next_("p")} == {"measurement", "sentence"}
    assert [tool.__name__ for tool in tools(folder)] == ["identify", "verify", "next"]
    assert all(tool.__doc__ for tool in tools(folder))


@pytest.mark.parametrize("name", ["..", "/etc/hostname", "p/../../x"])
def test_nothing_outside_of_the_folder_is_read(folder, name):
    for tool in tools(folder):
        with pytest.raises(MisuseError, match="lie in"):
            tool(name)


async def talked(server):
    """The tools that a client finds, a refused answer and a given one."""
    async with mcp.Client(server) as client:
        found = [tool.name for tool in (await client.list_tools()).tools]
        refused = await client.call_tool("identify", {"file": ".."})
        answered = await client.call_tool("next", {"project": "p"})
    return found, refused.structured_content["error"], answered.structured_content


def check_talk(found, refused, answered):
    assert found == ["identify", "verify", "next"]
    assert "lie in" in refused
    assert {*answered} == {"measurement", "sentence"}


def test_it_is_served_over_standard_streams(folder):
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "physupport", "agent", str(folder)], env=dict(os.environ)
    )
    check_talk(*asyncio.run(talked(server)))


def test_it_is_served_on_the_loopback_address_alone(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "physupport", "agent", str(folder), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            while "running on" not in (line := process.stderr.readline()):
                assert line, "the server ended"
            assert f"http://127.0.0.1:{port} " in line
            check_talk(*asyncio.run(talked(f"http://127.0.0.1:{port}/mcp")))
        finally:
            process.terminate()
            process.communicate()


def test_without_the_package_it_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert 'pip install "physupport[agent]"' in str(CliRunner().invoke(app, ["agent", str(folder)]).exception)
