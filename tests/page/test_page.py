"""Tests reports in a browser: with mouse and keys, on paper, on a phone, and without scripts.

Saves pictures to build/page/pictures. Prints how fast a large report is drawn, without a limit."""

import contextlib
import csv
import io
import itertools
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import unittest

import browsing
import patience
from reports import COMMANDS, ROOT, envelope, every_text, large, remade, write_all

PICTURES = ROOT / "build" / "page" / "pictures"
MOST_OF_CODE = 300_000
MOST_OF_DATA = 1_000_000


def setUpModule():
    global browser, pages, here
    stack = contextlib.ExitStack()
    unittest.addModuleCleanup(stack.close)
    here = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    pages = write_all(here)
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser = browsing.launched(stack)


def opened(path, width=1280, **keywords):
    return browsing.opened(browser, path, width, **keywords)


def changed(name, change):
    path = here / "changed.html"
    path.write_text(remade(pages[name].read_text(), change))
    return path


def rows(page, title):
    """The table of a chart, read from its CSV."""
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Save as CSV: {title}", exact=True).click()
    return list(csv.reader(io.StringIO(pathlib.Path(download.value.path()).read_text())))


class Looks(unittest.TestCase):
    def test_looks_in_light_and_dark_on_a_phone_and_on_paper(self):
        for name, path in pages.items():
            for looks, width, keywords in (
                ("light", 1280, {}),
                ("dark", 1280, {"color_scheme": "dark"}),
                ("phone", 390, {"has_touch": True}),
            ):
                if looks != "light" and name not in (
                    "tune",
                    "advise",
                    "compare",
                    "prices",
                    "calibrate",
                ):  # these have all elements together
                    continue
                with self.subTest(report=name, looks=looks), opened(path, width, **keywords) as page:
                    page.wait_for_timeout(80)
                    page.screenshot(path=PICTURES / f"{name}-{looks}.png", full_page=True)
                    self.assertEqual(
                        page.evaluate("document.documentElement.scrollWidth"),
                        width,
                        "the page is wider than the window",
                    )
                    if looks != "phone" or name == "tune":
                        self.assertEqual(browsing.violations(page), [])
            if name in ("tune", "simulate", "prices"):
                with self.subTest(report=name, looks="print"), opened(path) as page:
                    page.pdf(path=PICTURES / f"{name}.pdf")
                    page.emulate_media(media="print")
                    self.assertFalse(page.locator(".controls").first.is_visible())
                    page.screenshot(path=PICTURES / f"{name}-print.png", full_page=True)

    def test_the_verdict_of_ddpsim_comes_first(self):
        for name, path in pages.items():
            whole = envelope(path.read_text())
            with self.subTest(name), opened(path) as page:
                self.assertEqual(page.locator("h1").inner_text(), whole["verdict"])
                self.assertLess(page.locator("h1").bounding_box()["y"], 120)
                self.assertIn(whole["command"], page.locator("main").inner_text())

    def test_the_recommended_step_is_shorter_by_the_gain(self):
        documents = envelope(pages["tune"].read_text())["documents"]
        shorter = documents["result"]["iteration_us"] - documents["recommended_result"]["iteration_us"]
        self.assertAlmostEqual(shorter, documents["tune"]["recommended"]["gain_us"]["value"], places=5)

    def test_documents_equal_the_output_of_json(self):
        for name, key in (
            ("tune", "tune"),
            ("compare", "compare"),
            ("allreduce", "allreduce"),
            ("validate", "validation"),
            ("queues", "result"),
        ):
            run = subprocess.run(
                [os.environ["DDPSIM_BIN"], *[word for word in COMMANDS[name]], "--json"]
                if name != "allreduce"
                else [os.environ["DDPSIM_BIN"], *COMMANDS[name][:-2], "--json"],
                cwd=here,
                capture_output=True,
                text=True,
            )
            with self.subTest(name):
                self.assertEqual(envelope(pages[name].read_text())["documents"][key], json.loads(run.stdout))


class Content(unittest.TestCase):
    def test_exposed_spans_add_up_to_blocking_communication(self):
        for name in ("simulate", "queues", "tune"):
            result = envelope(pages[name].read_text())["documents"]["result"]
            with self.subTest(name), opened(pages[name]) as page:
                table = [
                    row
                    for row in rows(page, "The step, span by span")[1:]
                    if row[0].startswith(("simulated", "current"))
                ]
                spans = [
                    (row[1], row[2], 1000 * float(row[4]), 1000 * float(row[5]))
                    for row in table
                    if row[0] == table[0][0]
                ]
                drawn = sum(
                    end - start
                    for track, what, start, end in spans
                    if track == "compute" and what.startswith("waits for") and "launch" not in what
                )
                # Copies of buffers and out of earlier buckets also take blocking time, but are drawn as copies. An
                # event between two streams takes some time, too, in which neither stream works.
                backward = max(end for _, what, _, end in spans if what == "backward") - 0.001
                last = max(end for track, _, _, end in spans if track == "communication")
                copied = sum(
                    min(end, last) - start
                    for track, what, start, end in spans
                    if track == "compute"
                    and (what == "buffer copies" or what.startswith("copy out") and backward <= start < last)
                )
                self.assertAlmostEqual(
                    drawn + copied,
                    result["blocking_communication_us"],
                    delta=0.01 * result["blocking_communication_us"],
                )

    def test_efficiency_adds_up_to_the_step(self):
        with opened(pages["simulate"]) as page:
            table = rows(page, "Where the efficiency goes")
            self.assertAlmostEqual(sum(float(row[1]) for row in table[1:-1]), float(table[-1][1]), places=3)

    def test_every_chart_has_a_table(self):
        with opened(pages["tune"]) as page:
            for title in (
                "Step time by bucket cap",
                "The step, span by span",
                "Where the efficiency goes",
                "Sources of uncertainty",
                "Memory of a GPU",
            ):
                with self.subTest(title):
                    toggle = page.get_by_role("button", name=f"Table of: {title}")
                    toggle.click()
                    table = page.get_by_role("region", name=f"{title}: table")
                    self.assertTrue(table.is_visible())
                    self.assertEqual(table.locator("tbody tr").count(), len(rows(page, title)) - 1)
                    toggle.click()
                    self.assertFalse(table.is_visible())

    def test_missing_numbers_are_not_shown(self):
        for name, path in pages.items():
            with self.subTest(name), opened(path) as page:
                self.assertNotRegex(page.locator("main").inner_text(), r"\b(undefined|null|NaN)\b")

    def test_recorded_all_reduces_of_several_ranks_have_a_range(self):
        bucket = {
            "bytes": 2**20,
            "duration_us": {"min": 10, "median": 14, "max": 20},
            "transfer_us": 14,
            "predicted_us": 12,
            "inside": True,
        }

        def record(whole):
            whole["documents"]["result"]["recorded"] = {
                "ranks": 2,
                "comparable": True,
                "all_reduce_us": 14,
                "predicted_us": 12,
                "buckets": [bucket],
            }

        with opened(changed("simulate", record)) as page:
            table = rows(page, "Recorded and predicted all-reduces")
        self.assertEqual(table[1], ["0", "1", "0.01", "0.014", "0.02", "0.012", "yes"])

    def test_sizes_of_a_cluster_have_a_scaling_curve_with_ideal_and_intervals(self):
        sizes = envelope(pages["compare"].read_text())["documents"]["compare"]["rows"]
        with opened(pages["compare"]) as page:
            table = rows(page, "Scaling")
            card = page.locator("[data-card=Scaling]")
            self.assertEqual(card.locator("svg[role=img]").count(), 2)
            self.assertEqual(card.locator("path.ideal").count(), 2)
            told = card.locator("svg title").first.text_content()
        self.assertEqual([row[0] for row in table[1:]], ["dgx1v@1", "dgx1v@2", "dgx1v@4"])
        self.assertRegex(told, r"^dgx1v@1, 8 GPUs: .* samples/s \(80 % interval .*\), scaling efficiency .* %$")
        known = {row["label"]: row for row in sizes}
        for label, gpus, speed, low, high, ideal, efficiency in table[1:]:
            row = known[label]
            self.assertEqual(int(gpus), row["ranks"])
            self.assertLess(float(low), float(speed))
            self.assertLess(float(speed), float(high))
            self.assertAlmostEqual(float(efficiency), 100 * row["scaling_efficiency"], places=6)
            self.assertAlmostEqual(float(ideal), row["samples_per_second"] / row["scaling_efficiency"], places=4)

    def test_dominated_candidates_are_grey_and_the_frontier_is_joined(self):
        costs = {
            row["label"]: row["cost"]
            for row in envelope(pages["prices"].read_text())["documents"]["compare"]["rows"]
            if row.get("cost")
        }
        best = sum(cost["frontier"] for cost in costs.values())
        self.assertGreater(len(costs), best, "the candidates have no dominated one")
        with opened(pages["prices"]) as page:
            card = page.locator("[data-card='Cost against time']")
            self.assertEqual(card.locator("circle.best").count(), best)
            self.assertEqual(card.locator("circle.dominated").count(), len(costs) - best)
            self.assertEqual(card.locator("path.frontier").count(), 1 if best > 1 else 0)
            for row in rows(page, "Cost against time")[1:]:
                cost = costs[row[0]]
                self.assertEqual(row[6], "yes" if cost["frontier"] else "no")
                self.assertAlmostEqual(float(row[5]), float(row[1]) / cost["usd_per_hour"], places=9)

    def test_no_axis_mixes_two_notations(self):
        for name in ("compare", "prices", "tune", "allreduce", "calibrate"):
            with self.subTest(name), opened(pages[name]) as page:
                for chart in page.locator(".chart svg").all():
                    words = chart.locator("text").all_text_contents()
                    numbers = [text for text in words if re.match(r"[\d\u2212]", text)]
                    self.assertFalse([text for text in numbers if re.search(r"\de[+-]?\d|\d{5}", text)], numbers)

    def test_the_curve_of_caps_tells_the_cap_at_the_cursor(self):
        whole = envelope(pages["tune"].read_text())
        with opened(pages["tune"]) as page:
            stage = page.get_by_role("application", name="Step time by bucket cap; arrow keys go from cap to cap")
            stage.focus()
            seen = set()
            for key in ("Home", "ArrowRight", "ArrowRight", "End"):
                page.keyboard.press(key)
                seen.add(page.locator(".readout").inner_text())
            self.assertGreater(len(seen), 1)
            self.assertTrue(all(re.search("(than|as) the current step", text) for text in seen), seen)
            self.assertEqual(whole["documents"]["tune"]["recommended"]["action"], "set")
            self.assertEqual(page.locator("circle.advised").count(), 1)

    def test_the_required_measurement_is_at_the_top(self):
        first = envelope(pages["measure_first"].read_text())["documents"]["tune"]["recommended"]["measure_first"]
        with opened(pages["measure_first"]) as page:
            head = page.locator("header").inner_text()
            self.assertIn(first["command"], head)
            self.assertIn(f"set bucket_cap_mb={first['bucket_cap_mb']}. If it is longer", head)


class Controls(unittest.TestCase):
    def test_timeline_by_mouse(self):
        with opened(pages["queues"]) as page:
            shown = page.locator(".timeline .range")
            whole = shown.inner_text()
            page.get_by_role("button", name="Zoom in").click()
            page.wait_for_function("was => document.querySelector('.timeline .range').textContent !== was", arg=whole)
            near = shown.inner_text()
            box = page.locator(".timeline canvas").first.bounding_box()
            page.mouse.move(box["x"] + 600, box["y"] + 60)
            page.mouse.down()
            page.mouse.move(box["x"] + 300, box["y"] + 60, steps=5)
            page.mouse.up()
            page.wait_for_function("was => document.querySelector('.timeline .range').textContent !== was", arg=near)
            page.get_by_role("button", name="Show the whole step").click()
            page.wait_for_function("was => document.querySelector('.timeline .range').textContent === was", arg=whole)
            page.get_by_role("button", name="Select the next bucket").click()
            self.assertIn("Bucket 0", page.locator(".details").inner_text())
            page.get_by_role("button", name="Show bucket 1 in the timeline").click()
            self.assertIn("Bucket 1", page.locator(".details").inner_text())
            page.mouse.move(box["x"] + 250, box["y"] + 62)
            self.assertIsNotNone(page.locator(".tip"))

    def test_timeline_by_keys(self):
        with opened(pages["queues"]) as page:
            page.get_by_role("application", name="Timeline of the step").focus()
            whole = page.locator(".timeline .range").inner_text()
            for key in ("+", "+", "ArrowRight", "ArrowLeft", "-", "Home", "End"):
                before = page.locator(".timeline .range").inner_text()
                page.keyboard.press(key)
                with self.subTest(key):
                    page.wait_for_function(
                        "was => document.querySelector('.timeline .range').textContent !== was", arg=before
                    )
            page.keyboard.press("n")
            self.assertIn("Bucket 0", page.locator(".details").inner_text())
            page.keyboard.press("p")
            page.keyboard.press("Escape")
            self.assertIn("Select a span", page.locator(".details").inner_text())
            page.keyboard.press("0")
            page.wait_for_function("was => document.querySelector('.timeline .range').textContent === was", arg=whole)

    def test_the_reason_for_an_exposed_bucket_is_shown(self):
        result = envelope(pages["queues"].read_text())["documents"]["result"]
        exposed = next(bucket for bucket in result["buckets"] if bucket["exposed_because"])
        with opened(pages["queues"]) as page:
            page.get_by_role("button", name=f"Show bucket {exposed['index']} in the timeline").press("Enter")
            self.assertIn(exposed["exposed_because"], page.locator(".details").inner_text())

    def test_every_control_by_mouse_and_by_keys(self):
        for name in ("tune", "advise", "compare", "calibrate"):
            with self.subTest(report=name), opened(pages[name]) as page:
                buttons = page.locator("button:visible, summary:visible, input:visible")
                for i in range(buttons.count()):
                    buttons.nth(i).click()
                    buttons.nth(i).press("Space" if buttons.nth(i).evaluate("e => e.tagName") == "INPUT" else "Enter")

    def test_a_checkbox_shows_all_ranks(self):
        with opened(changed("tune", lambda whole: large(whole, 8, 10, 20))) as page:
            before = page.locator(".timeline canvas").first.bounding_box()["height"]
            page.get_by_label("all 10 ranks").check()
            page.wait_for_function(
                "was => document.querySelector('.timeline canvas').getBoundingClientRect().height !== was", arg=before
            )

    def test_markdown_is_copied(self):
        with opened(pages["simulate"]) as page:
            page.context.grant_permissions(["clipboard-read", "clipboard-write"])
            page.get_by_role("button", name="Copy as Markdown: Buckets").click()
            page.get_by_text("Copied").wait_for()
            copied = page.evaluate("navigator.clipboard.readText()").splitlines()
            self.assertEqual(
                len(copied), 2 + len(envelope(pages["simulate"].read_text())["documents"]["result"]["buckets"])
            )
            self.assertEqual({line.count("|") for line in copied}, {13})


class Hostile(unittest.TestCase):
    TEXTS = [
        "<script>window.harmed=1</script>",
        '"><img src=x onerror="window.harmed=1">',
        "\u202egnol\u2066 \u0000\u0007",
        "x" * 10_000,
        "</script><script>window.harmed=1</script>",
        "=cmd|' /C calc'!A0",
        "a | b `c` <i>d</i>\nnext",
    ]

    def test_names_are_shown_as_text(self):
        for name in COMMANDS:
            # The hostile texts take turns. A second offset gives each place another text.
            for offset in range(2 if name in ("tune", "compare") else 1):
                turn = itertools.cycle(self.TEXTS[offset:] + self.TEXTS[:offset])

                def harm(whole):
                    whole["documents"] = every_text(whole["documents"], lambda _: next(turn))
                    whole.update(verdict=next(turn), command=next(turn), text=next(turn))

                with self.subTest(report=name, offset=offset), opened(changed(name, harm), 390) as page:
                    self.assertEqual(page.locator("main").count(), 1)
                    self.assertIsNone(page.evaluate("window.harmed ?? null"))
                    self.assertEqual(
                        page.locator("img").count() + page.locator("body script:not(#documents)").count(), 0
                    )
                    self.assertNotRegex(page.locator("main").inner_text(), "[\u202e\u2066]")
                    self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), 390)

    def test_a_csv_has_no_formula(self):
        with opened(
            changed("advise", lambda whole: whole.update(documents=every_text(whole["documents"], lambda _: "=1+1")))
        ) as page:
            cells = [cell for row in rows(page, "Settings, by expected gain")[1:] for cell in row]
            self.assertFalse([cell for cell in cells if cell.startswith("=")])

    def test_names_from_the_command_line_are_shown_as_text(self):
        evil = here / "<img src=x onerror=alert(1)>.json"
        evil.write_text(
            (here / "three-layers.json")
            .read_text()
            .replace('"three-layers"', '"</pre></script><script>window.harmed=1</script>"')
        )
        path = here / "evil.html"
        subprocess.run(
            [os.environ["DDPSIM_BIN"], "simulate", evil.name, "2xv100-nvlink", "--report", path, "--quiet"],
            cwd=here,
            check=True,
            capture_output=True,
        )
        for scripts in (True, False):
            with self.subTest(scripts=scripts), opened(path, java_script_enabled=scripts) as page:
                self.assertEqual(page.locator("img").count() + page.locator("body script:not(#documents)").count(), 0)
                self.assertIn("</pre></script>", page.locator("body").inner_text())


class Elsewhere(unittest.TestCase):
    def test_without_scripts_the_text_is_shown(self):
        with opened(pages["tune"], java_script_enabled=False) as page:
            self.assertEqual(
                page.locator("#plain").inner_text().strip(), envelope(pages["tune"].read_text())["text"].strip()
            )
            self.assertTrue(page.locator("#plain").is_visible())

    def test_a_page_that_cannot_be_unpacked_has_an_error(self):
        broken = here / "broken.html"
        broken.write_text(pages["tune"].read_text().replace('id="documents">H4sI', 'id="documents">AAAA'))
        with opened(broken) as page:
            self.assertIn("could not be shown", page.get_by_role("alert").inner_text())
            self.assertTrue(page.locator("#plain").is_visible())

    def test_the_policy_blocks_other_scripts(self):
        with opened(pages["tune"]) as page:
            policy = page.locator("meta[http-equiv]").get_attribute("content")
            self.assertRegex(policy, r"^default-src 'none'; script-src 'sha256-[^ ']+'; style-src 'sha256-[^ ']+';")
        added = here / "added.html"
        added.write_text(pages["tune"].read_text().replace("</body>", "<script>window.harmed=1</script></body>"))
        with self.assertRaisesRegex(AssertionError, "Content Security Policy"), opened(added) as page:
            self.assertIsNone(page.evaluate("window.harmed ?? null"))


class Large(unittest.TestCase):
    def test_sizes(self):
        bare = (ROOT / "reports" / "page" / "page.html").stat().st_size
        self.assertLess(bare, MOST_OF_CODE)
        path = changed("tune", large)
        data = path.stat().st_size - bare
        print(f"\ncode and style {bare} bytes; data of 64 ranks, 100 buckets, 1000 caps {data} bytes")
        self.assertLess(data, MOST_OF_DATA)

    def test_prints_the_speed(self):
        with opened(changed("tune", large)) as page:
            page.get_by_label("all 66 ranks").check()
            page.wait_for_timeout(100)
            box = page.locator(".timeline canvas").first.bounding_box()
            page.evaluate("document.querySelector('.timeline .stage').frames.length = 0")
            page.get_by_role("button", name="Zoom in").click()
            page.mouse.move(box["x"] + 700, box["y"] + 60)
            page.mouse.down()
            moves = itertools.count()

            def dragged():
                page.mouse.move(box["x"] + 700 - 8 * (next(moves) % 60), box["y"] + 60)
                page.wait_for_timeout(16)
                return len(page.evaluate("document.querySelector('.timeline .stage').frames")) >= 40

            patience.until(dragged)
            page.mouse.up()
            frames = page.evaluate("document.querySelector('.timeline .stage').frames")
            paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            quantiles = statistics.quantiles(frames, n=10)
            print(
                f"\n64 ranks x 100 buckets: script per frame median {statistics.median(frames):.1f} ms, p10 {quantiles[0]:.1f}, "
                f"p90 {quantiles[-1]:.1f} ({len(frames)} frames); first paint {paint:.0f} ms"
            )


if __name__ == "__main__":
    unittest.main()
