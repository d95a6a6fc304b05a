"""Tests ddpsim.html, the page with the simulator inside, in a browser: from disk, with mouse and keys.

DDPSIM_HTML: the path of the page (default: the output of preset wasm). Saves pictures to build/page/pictures. Prints
how fast a dragged cap is answered, without a limit."""

import base64
import contextlib
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import unittest

import browsing
import patience
from reports import INPUTS, ROOT, envelope

HTML = pathlib.Path(os.environ.get("DDPSIM_HTML") or ROOT / "build" / "wasm" / "ddpsim.html")
PICTURES = ROOT / "build" / "page" / "pictures"
JOB = "#workload=alexnet-v100-b256&cluster=dgx1v@4"  # of few bucketings: soon weighed
MOST_BYTES = 2_790_000  # about 2,781,000 so far


def setUpModule():
    global browser, here
    if not HTML.exists():
        raise unittest.SkipTest(f"{HTML} was not built (cmake --preset wasm, after scripts/setup.sh --wasm --page)")
    stack = contextlib.ExitStack()
    unittest.addModuleCleanup(stack.close)
    here = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    shutil.copytree(INPUTS, here, dirs_exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser = browsing.launched(stack)


@contextlib.contextmanager
def opened(address="", width=1280, path=None, **keywords):
    with browsing.opened(browser, path or HTML, width, address, **keywords) as page:
        page.wait_for_selector("body[data-stage]")
        yield page


def settled(page, what="All caps compared."):
    page.get_by_role("status").filter(has_text=what).wait_for()


def dropped(page, path, name=None):
    """Drops a file on the page, as from a folder."""
    transfer = page.evaluate_handle(
        """([name, base64]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
            return transfer;
        }""",
        [name or path.name, base64.b64encode(path.read_bytes()).decode()],
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": transfer})


def native(*arguments):
    return subprocess.run([os.environ["DDPSIM_BIN"], *arguments], cwd=here, capture_output=True, text=True)


def in_page(page, arguments, files=()):
    """The answer of the simulator in the page."""
    return page.evaluate(
        """async ([args, files]) => {
            const {exit, stdout, stderr} = await document.querySelector('.answer').run(args, files);
            return {exit, stdout, stderr};
        }""",
        [list(arguments), [{"name": name, "content": (here / name).read_text()} for name in files]],
    )


class FirstScreen(unittest.TestCase):
    def test_the_first_screen_says_what_to_do_and_uploads_nothing(self):
        with opened() as page:
            seen = page.locator("main").inner_text()
            self.assertIn("Drop a trace here", seen)
            self.assertIn("Nothing is uploaded", seen)
            self.assertFalse(page.locator("fieldset.cluster").is_visible())
            self.assertEqual(page.locator("h1:visible").count(), 1)
            policy = page.locator("meta[http-equiv]").get_attribute("content")
            self.assertRegex(
                policy,
                r"^default-src 'none'; script-src 'sha256-[^ ']+' 'wasm-unsafe-eval'; worker-src blob:; style-src 'sha256-[^ ']+';",
            )

    def test_looks(self):
        for looks, width, keywords in (
            ("light", 1280, {}),
            ("dark", 1280, {"color_scheme": "dark"}),
            ("phone", 390, {"has_touch": True}),
        ):
            for name, address in (("first", ""), ("workbench", JOB)):
                with self.subTest(page=name, looks=looks), opened(address, width, **keywords) as page:
                    if address:
                        settled(page)
                    page.screenshot(path=PICTURES / f"{name}-{looks}.png", full_page=True)
                    self.assertEqual(
                        page.evaluate("document.documentElement.scrollWidth"),
                        width,
                        "the page is wider than the window",
                    )
                    self.assertEqual(browsing.violations(page), [])
                    if address and looks == "light":
                        page.emulate_media(media="print")
                        page.screenshot(path=PICTURES / f"{name}-print.png", full_page=True)
                        self.assertFalse(page.locator("fieldset.settings").is_visible())

    def test_size(self):
        self.assertLess(HTML.stat().st_size, MOST_BYTES)

    def test_without_scripts_it_says_that_it_needs_them(self):
        with browsing.opened(browser, HTML, java_script_enabled=False) as page:
            self.assertIn("it needs scripts", page.locator("#plain").inner_text())


class FilesComeIn(unittest.TestCase):
    def test_from_a_trace_to_a_verdict(self):
        with opened() as page:
            dropped(page, here / "resnet18.json.gz")
            page.get_by_role("button", name="Save resnet18.workload.json").wait_for()
            page.get_by_label("Cluster", exact=True).select_option("2xv100-nvlink")
            settled(page)
            native("import", "resnet18.json.gz", "-o", "w.json")
            verdict = native("tune", "w.json", "2xv100-nvlink", "--quiet").stdout.strip()
            self.assertEqual(page.locator("h1:visible").inner_text(), verdict)
            with page.expect_download() as download:
                page.get_by_role("button", name="Save resnet18.workload.json").click()
            self.assertEqual(pathlib.Path(download.value.path()).read_bytes(), (here / "w.json").read_bytes())
            lines = page.locator(".command code").all_inner_texts()
            self.assertEqual(
                lines[:2],
                [
                    "ddpsim import resnet18.json.gz -o resnet18.workload.json",
                    "ddpsim tune resnet18.workload.json 2xv100-nvlink",
                ],
            )
            # The address has the name of the file, and nothing of its contents.
            self.assertIn("resnet18.json.gz", page.evaluate("decodeURIComponent(location.hash)"))
            self.assertLess(len(page.evaluate("location.hash")), 200)
            page.reload()
            page.get_by_text("Drop it again").wait_for()
            self.assertIn("resnet18.json.gz", page.locator(".outcome").inner_text())
            page.locator("#chooser").set_input_files(here / "resnet18.json.gz")
            settled(page)
            self.assertEqual(page.locator("h1:visible").inner_text(), verdict)

    def test_pasted_text(self):
        with opened() as page:
            page.get_by_text("Or paste text").press("Enter")
            page.get_by_label("A trace, a workload, a log or a cluster file").fill(
                (here / "three-layers.json").read_text()
            )
            page.get_by_role("button", name="Read it").press("Enter")
            page.get_by_text("pasted.json").first.wait_for()
            page.locator("fieldset.cluster").wait_for()  # shown after reading
        with opened() as page:
            page.evaluate(
                """(text) => {
                const clipboardData = new DataTransfer();
                clipboardData.setData('text', text);
                document.body.dispatchEvent(new ClipboardEvent('paste', {clipboardData, bubbles: true}));
            }""",
                (here / "lab.json").read_text(),
            )
            page.get_by_text("Read as a cluster").wait_for()

    def test_reading_can_be_cancelled(self):
        small = json.loads((here / "rank0.json").read_text())
        large = here / "large.json"
        with large.open("w") as out:
            out.write(json.dumps({**small, "traceEvents": []})[:-2])
            note = json.dumps({"ph": "M", "name": "padding", "args": {"note": "x" * 1000}})
            for i in range(100_000):
                out.write(("," if i else "") + note)
            out.write("]}")
        with opened() as page:
            page.locator("#chooser").set_input_files(large)
            page.wait_for_function("() => document.querySelector('#reading')?.value > 0")
            page.get_by_role("button", name="Cancel").press("Enter")
            page.get_by_text("Cancelled; nothing was kept.").wait_for()
            page.locator("#chooser").set_input_files(here / "three-layers.json")
            page.get_by_text("Read as a workload").wait_for()
        large.unlink()

    def test_an_unreadable_file_has_the_error_of_the_program(self):
        with opened() as page:
            dropped(page, here / "sharded.json")
            words = page.locator(".outcome .wrong:visible").inner_text()
            self.assertEqual(
                words, native("import", "sharded.json", "-o", "no.json").stderr.strip().removeprefix("ddpsim: ")
            )

    def test_a_log_calibrates_the_selected_cluster(self):
        with opened("#workload=three-layers.json&cluster=abci-v100@2") as page:
            page.locator("#chooser").set_input_files(here / "three-layers.json")
            settled(page, "compared")
            dropped(page, here / "n2.txt")
            page.get_by_role("button", name="Save n2.cluster.json").wait_for()
            page.wait_for_function("() => decodeURIComponent(location.hash).includes('cluster=n2.cluster.json@2')")
            settled(page, "compared")
        with opened() as page:
            dropped(page, here / "n2.txt")
            page.get_by_label("Cluster", exact=True).select_option("abci-v100")
            page.get_by_role("button", name="Save n2.cluster.json").wait_for()

    def test_names_are_shown_as_text(self):
        evil = json.loads((here / "three-layers.json").read_text())
        evil["name"] = "</script><script>window.harmed=1</script>\u202egnol"
        name = "<img src=x onerror=window.harmed=1>.json"
        (here / "evil.json").write_text(json.dumps(evil))
        with opened() as page:
            dropped(page, here / "evil.json", name)
            page.get_by_label("Cluster", exact=True).select_option("2xv100-nvlink")
            settled(page)
            for option in ("--help.json", "x" * 300 + ".json"):
                dropped(page, here / "evil.json", option)
                page.get_by_text(option[:40]).first.wait_for()
                settled(page)
            self.assertIsNone(page.evaluate("window.harmed ?? null"))
            self.assertEqual(page.locator("img").count(), 0)
            self.assertNotRegex(page.locator("main").inner_text(), "[\u202e\u2066]")
            self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), 1280)

    def test_a_file_may_be_named_like_a_property_of_objects(self):
        for given, name in (("__proto__", "__proto__"), ("constructor", "constructor"), ("..", "file")):
            with self.subTest(name), opened("#cluster=2xv100-nvlink") as page:
                dropped(page, here / "three-layers.json", given)
                settled(page)
                self.assertEqual(page.locator("optgroup[label='Your files'] option").all_inner_texts(), [name])
                page.wait_for_function("() => location.hash.includes('dropped=')")
                address = page.evaluate("location.hash")
            with self.subTest(f"address of {name}"), opened(address) as page:
                page.get_by_text(f"This address is of {given}, which was dropped here").wait_for()

    def test_a_step_of_a_hundred_thousand_gradients_is_drawn(self):
        job = json.loads((here / "three-layers.json").read_text())
        count = 100_000
        job["parameters"] = [{"name": f"p{i}", "shape": [10], "dtype": "float32"} for i in range(count)]
        job["backward"]["ready"] = [
            {"parameter": count - 1 - i, "at_us": job["backward"]["duration_us"] * i / count} for i in range(count)
        ]
        (here / "many.json").write_text(json.dumps(job))
        with opened("#cluster=2xv100-nvlink") as page:
            page.locator("#chooser").set_input_files(here / "many.json")
            page.get_by_role("status").filter(has_text="Simulated.").wait_for()

    def test_outputs_do_not_replace_dropped_files(self):
        with opened("#cluster=2xv100-nvlink") as page:
            dropped(page, here / "three-layers.json", "answer.json")
            settled(page)
        with opened("#workload=alexnet-v100-b256&cluster=abci-v100@2") as page:
            for name in ("n2.cluster.json", "n2-2.cluster.json"):
                dropped(page, here / "n2.txt")
                page.get_by_role("button", name=f"Save {name}").wait_for()
                page.wait_for_function(
                    "name => decodeURIComponent(location.hash).includes(`cluster=${name}@2`)", arg=name
                )
            settled(page)

    def test_an_address_cannot_add_options(self):
        with opened("#workload=--csv=x&cluster=--help") as page:
            self.assertEqual(page.evaluate("document.body.dataset.stage"), "job")
            self.assertEqual(page.locator(".command code").count(), 0)


class Answers(unittest.TestCase):
    COMMANDS = [
        (["simulate", "resnet50-v100-b32", "dgx1v@4", "--bucket-cap-mb", "7.5", "--json"], []),
        (
            ["simulate", "three-layers.json", "lab.json@2", "--network", "flow", "--json"],
            ["three-layers.json", "lab.json"],
        ),
        (["tune", "three-layers.json", "dgx1v@2", "--torch", "2.8", "--json"], ["three-layers.json"]),
        (["topo", "p3dn@2 nic:2x100Gbps:efa", "--json"], []),
        (["list", "--json"], []),
        (["import", "sharded.json"], ["sharded.json"]),
        (["simulate", "resnet50-v100-b32", "dgxa100", "--json"], []),
        (["tune", "resnet50-v100-b32", "dgx1v", "--bucket-cap-mb", "x"], []),
    ]

    def test_answers_equal_the_native_program(self):
        with opened() as page:
            for arguments, files in self.COMMANDS:
                with self.subTest(arguments):
                    run = native(*arguments)
                    self.assertEqual(
                        in_page(page, arguments, files),
                        {"exit": run.returncode, "stdout": run.stdout, "stderr": run.stderr},
                    )

    def test_the_shown_command_gives_the_shown_answer(self):
        with opened(JOB + "&--bucket-cap-mb=12&--gradient-as-bucket-view=") as page:
            settled(page)
            line = page.locator(".command code").first.inner_text()
            self.assertEqual(line, "ddpsim tune alexnet-v100-b256 dgx1v@4 --bucket-cap-mb 12 --gradient-as-bucket-view")
            self.assertEqual(
                page.locator("h1:visible").inner_text(), native(*line.split()[1:], "--quiet").stdout.strip()
            )

    def test_the_address_restores_all_settings(self):
        with opened(JOB) as page:
            settled(page)
            page.get_by_label("bucket_cap_mb", exact=True).fill("7")
            page.get_by_text("All settings").click()
            page.get_by_label("static_graph").check()
            page.get_by_label("Nodes", exact=True).fill("2")
            page.get_by_label("Further options").fill("--straggler 1:1.1")
            page.get_by_label("Further options").press("Enter")
            page.get_by_label("PyTorch", exact=True).select_option("2.4")
            settled(page)
            line = page.locator(".command code").first.inner_text()
            self.assertEqual(
                line,
                "ddpsim tune alexnet-v100-b256 dgx1v@2 --bucket-cap-mb 7 --static-graph --torch 2.4 --straggler 1:1.1",
            )
            said = page.locator("h1:visible").inner_text()
            page.reload()
            settled(page)
            self.assertEqual(page.locator(".command code").first.inner_text(), line)
            self.assertEqual(page.locator("h1:visible").inner_text(), said)
            self.assertTrue(page.get_by_label("static_graph").is_checked())

    def test_an_error_is_shown_at_the_wrong_value(self):
        with opened(JOB) as page:
            settled(page)
            page.get_by_label("NCCL", exact=True).fill("two")
            page.get_by_label("NCCL", exact=True).press("Enter")
            page.locator(".settings .wrong:visible").filter(has_text='"two" is not a version').wait_for()
            page.get_by_label("NCCL", exact=True).fill("")
            page.get_by_label("NCCL", exact=True).press("Enter")
            settled(page)
            page.get_by_label("Cluster in one line").fill("nowhere")
            page.get_by_label("Cluster in one line").press("Enter")
            page.locator(".cluster .wrong:visible").filter(has_text='there is no cluster or file "nowhere"').wait_for()
            page.get_by_label("Cluster in one line").fill("dgxa100@2")
            page.get_by_label("Cluster in one line").press("Enter")
            page.locator(".settings .wrong:visible").filter(
                has_text="recorded on V100, but the cluster has A100"
            ).wait_for()
            page.get_by_role("button", name="Estimate it layer by layer for A100").click()
            settled(page)
            self.assertTrue(page.get_by_label("Transfer the recording to this GPU").is_checked())
            self.assertIn("--gpu A100", page.locator(".command code").first.inner_text())

    def test_a_cluster_is_described_word_by_word(self):
        with opened("#workload=alexnet@V100:fp32&cluster=dgx1v@2") as page:
            settled(page)
            page.get_by_label("Cluster", exact=True).select_option(label="Describe another cluster")
            page.wait_for_function(
                "() => document.querySelector('.cluster .wide input').value.startsWith('node:2 gpu:8xV100-32GB nvlink:6x25GBps')"
            )
            page.get_by_label("GPUs per node", exact=True).fill("4")
            page.wait_for_function(
                "() => document.querySelector('.cluster .wide input').value.includes('gpu:4xV100-32GB')"
            )
            page.get_by_label("Between GPUs").select_option("nvswitch")
            page.get_by_label("Rate per NIC", exact=True).fill("50")
            page.wait_for_function("() => document.querySelector('.cluster .wide input').value.includes('50Gbps')")
            page.get_by_label("Network", exact=True).select_option("tcp")
            settled(page)
            self.assertRegex(
                page.get_by_label("Cluster in one line").input_value(), "^node:2 gpu:4xV100-32GB .*nvswitch:300GBps"
            )


class Controls(unittest.TestCase):
    def test_everything_by_mouse_and_by_keys(self):
        with opened(JOB) as page:
            settled(page)
            for closed in page.locator("summary:visible").all():
                closed.press("Enter")
            controls = page.locator(
                ".panel :is(input, select, button, summary, textarea):visible, .strip :is(input, button):visible, .answer :is(button, input):visible"
            )
            for i in range(controls.count()):
                if i >= controls.count():
                    break
                one = controls.nth(i)
                kind = one.evaluate("e => e.type || e.tagName")
                if not one.is_visible() or kind == "file":
                    continue
                one.focus()
                if kind == "range":
                    before = one.input_value()
                    page.keyboard.press("ArrowRight")
                    page.keyboard.press("ArrowLeft")
                    self.assertEqual(one.input_value(), before)
                elif kind == "checkbox":
                    for _ in range(2):
                        page.keyboard.press("Space")
                elif kind == "button":
                    one.click()
                    page.keyboard.press("Enter")
                elif kind == "select-one":
                    page.keyboard.press("ArrowDown")
                    page.keyboard.press("ArrowUp")
            self.assertEqual(page.locator("main").count(), 1)

    def test_the_view_stays_while_the_cap_changes(self):
        with opened(JOB) as page:
            settled(page)
            page.get_by_role("button", name="Zoom in").click()
            page.get_by_role("button", name="Table of: Where the efficiency goes").click()
            page.wait_for_function("() => !document.querySelector('.timeline .range').textContent.startsWith('whole')")
            seen = page.locator(".timeline .range").inner_text()
            said = page.locator("h1:visible").inner_text()
            slider = page.get_by_label("bucket_cap_mb, slider")
            slider.focus()
            for _ in range(60):
                page.keyboard.press("ArrowLeft")
            page.wait_for_function(
                "was => document.querySelector('h1:not(.question h1)').textContent !== was", arg=said
            )
            settled(page)
            self.assertEqual(page.locator(".timeline .range").inner_text(), seen)
            self.assertTrue(page.get_by_role("region", name="Where the efficiency goes: table").is_visible())
            self.assertTrue(slider.evaluate("e => e === document.activeElement"))

    def test_prints_the_speed_of_a_dragged_cap(self):
        with opened("#workload=resnet50-v100-b32&cluster=dgx1v@4") as page:
            page.get_by_role("status").filter(has_text="Comparing").wait_for()
            box = page.get_by_label("bucket_cap_mb, slider").bounding_box()
            page.evaluate("document.querySelector('.answer').times.length = 0")
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            page.mouse.down()
            moves = itertools.count()

            def dragged():
                page.mouse.move(
                    box["x"] + box["width"] * (0.5 + 0.4 * (1 - abs(next(moves) % 60 - 30) / 15) / 2),
                    box["y"] + box["height"] / 2,
                )
                page.wait_for_timeout(25)
                return len(page.evaluate("document.querySelector('.answer').times")) >= 20

            patience.until(dragged)
            times = page.evaluate("document.querySelector('.answer').times")
            for key, words in (("ms", "answered in"), ("drawn", "drawn in")):
                values = [one[key] for one in times]
                quantiles = statistics.quantiles(values, n=10)
                print(
                    f"\na cap dragged, 32 GPUs, {len(values)} answers: {words} median {statistics.median(values):.0f} ms, p10 {quantiles[0]:.0f}, "
                    f"p90 {quantiles[-1]:.0f}",
                    end="",
                )
            paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            frames = page.evaluate("document.querySelector('.timeline .stage').frames")
            print(
                f"\nscript per frame of the timeline median {statistics.median(frames):.1f} ms ({len(frames)} frames)",
                end="",
            )
            print(f"\nfirst paint {paint:.0f} ms; {HTML.stat().st_size} bytes")


class FromACommand(unittest.TestCase):
    def page_of(self, *arguments):
        path = here / "interactive.html"
        run = subprocess.run(
            [os.environ["DDPSIM_BIN"], *arguments, "--report", path, "--interactive", "--quiet"],
            cwd=here,
            capture_output=True,
            text=True,
            env={**os.environ, "DDPSIM_HTML": str(HTML)},
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        return path

    def test_controls_start_from_the_command(self):
        arguments = [
            "tune",
            str(here / "three-layers.json"),
            f"{here / 'lab.json'}@2",
            "--torch",
            "2.8",
            "--bucket-cap-mb",
            "2",
        ]
        path = self.page_of(*arguments)
        text = path.read_text()
        whole = envelope(text)
        with opened(path=path) as page:
            self.assertEqual(page.locator("h1:visible").inner_text(), whole["verdict"])
            self.assertEqual(
                page.locator(".command code").first.inner_text(),
                "ddpsim tune three-layers.json lab.json@2 --bucket-cap-mb 2 --torch 2.8",
            )
            self.assertEqual(page.get_by_label("PyTorch", exact=True).input_value(), "2.8")
            # The page gets the same answer from its inputs as the command.
            again = page.evaluate("""async () => {
                const {written} = await document.querySelector('.answer').asks('tune');
                return new TextDecoder().decode(written.get('answer.json'));
            }""")
            self.assertEqual(json.loads(again)["documents"], whole["documents"])
            page.get_by_label("bucket_cap_mb", exact=True).fill("5")
            settled(page)
            self.assertNotIn("bucket_cap_mb=2", page.locator("h1:visible").inner_text())
        self.assertLess(path.stat().st_size - HTML.stat().st_size, 1_000_000)

    def test_two_files_of_one_name_stay_separate(self):
        for folder, name in (("jobs", "three-layers.json"), ("clusters", "lab.json")):
            (here / folder).mkdir(exist_ok=True)
            shutil.copy(here / name, here / folder / "same.json")
        with opened(path=self.page_of("simulate", "jobs/same.json", "clusters/same.json@2")) as page:
            self.assertEqual(page.locator(".command code").first.inner_text(), "ddpsim tune same.json 2-same.json@2")
            page.get_by_label("bucket_cap_mb", exact=True).fill("5")
            settled(page)
            self.assertIn("8 GPUs, bound", page.locator("main").inner_text())

    def test_options_without_a_control_are_kept(self):
        path = self.page_of(
            "simulate",
            "alexnet-v100-b256",
            "dgx1v",
            "--nodes",
            "2",
            "--straggler",
            "1:1.2",
            "--straggler",
            "3:1.1",
            "--static-graph",
        )
        with opened(path=path) as page:
            self.assertEqual(
                page.locator(".command code").first.inner_text(),
                "ddpsim tune alexnet-v100-b256 dgx1v@2 --static-graph --straggler 1:1.2 --straggler 3:1.1",
            )

    def test_without_the_page_no_output_is_written(self):
        for stated in (str(here / "absent.html"), str(here / "lab.json")):
            run = subprocess.run(
                [
                    os.environ["DDPSIM_BIN"],
                    "simulate",
                    "three-layers.json",
                    "dgx1v",
                    "--report",
                    "no.html",
                    "--interactive",
                    "--timeline",
                    "no.pftrace",
                ],
                cwd=here,
                capture_output=True,
                text=True,
                env={**os.environ, "DDPSIM_HTML": stated},
            )
            self.assertEqual((run.returncode, run.stderr.count("\n")), (3, 1), run.stderr)
            self.assertIn("DDPSIM_HTML", run.stderr)
            self.assertFalse((here / "no.html").exists() or (here / "no.pftrace").exists())


if __name__ == "__main__":
    unittest.main()
