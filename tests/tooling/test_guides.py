"""Every project file of a guide has the keys and values that project files may have."""

import re
import tomllib
from pathlib import Path

import pytest

from physupport.project._schema import ProjectFile

GUIDES = sorted((Path(__file__).parents[2] / "docs" / "guides").glob("*.md"))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_its_project_files_are_valid(guide):
    for text in re.findall(r"```toml\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL):
        assert ProjectFile.model_validate(tomllib.loads(text)).data.deployment.file
