"""Whatever does not come from a page of this studio, in this browser, is refused and changes nothing."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dpselect.release.ledger.ledger import Ledger

from .conftest import variables

FORM = "application/x-www-form-urlencoded"


def spent(studio):
    return Ledger(studio.folder / "people.budget.db").entries()


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:{port}", "127.0.0.1:{port}.evil.example", "127.0.0.1:1"]
)
def test_a_foreign_host_is_refused(shared, host):
    for path in (f"/?token={shared.token}", shared.home + "study"):
        headers = {"Cookie": shared.cookie, "Host": host.format(port=shared.port)}
        status, _, text = shared.send("GET", path, headers=headers)
        assert (status, "form_token" in text) == (400, False)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1", "http://127.0.0.1:1", None])
def test_a_foreign_origin_is_refused(shared, origin):
    fields = {"epsilon": "3", "delta": "0"}
    status, _, _ = shared.post("budget", fields, {"Origin": origin} if origin else {"Origin": ""})
    assert status == 403
    assert not (shared.folder / "people.budget.db").exists()


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_elsewhere_on_this_computer_is_refused(shared, site):
    assert shared.get("study", **{"Sec-Fetch-Site": site})[0] == 403
    assert shared.get("study", **{"Sec-Fetch-Site": "same-origin"})[0] == 200
    assert shared.post("study", {"address": "people.csv"}, {"Sec-Fetch-Site": site})[0] == 403


def test_nothing_is_shown_without_the_token(shared):
    for path in (
        "/",
        "/?token=",
        "/?token=x",
        f"/?token={shared.token}x",
        "/?token=%ff",
        shared.home,
        shared.home + "study",
    ):
        status, headers, text = shared.send("GET", path)
        assert (status, "Set-Cookie" in headers) == (403, False)
        assert "people" not in text
        assert shared.token not in text
    assert shared.send("POST", shared.home + "study", "address=people.csv", {"Content-Type": FORM})[0] == 403


def test_secrets_of_an_ended_studio_open_nothing(start):
    old = start()
    old.stop()
    new = start()
    assert new.send("GET", f"/?token={old.token}")[0] == 403
    stale = new.cookie.partition("=")[0] + "=" + old.cookie.partition("=")[2]
    status, _, text = new.send("GET", new.home + "study", headers={"Cookie": stale})
    assert status == 403
    assert "has ended" in text
    fields = {"address": "people.csv", "form_token": old.form_token}
    assert new.post("study", fields)[0] == 403


@pytest.mark.parametrize("token", ["", "x", "é"])
def test_a_form_without_its_token_is_refused(shared, token):
    status, _, text = shared.post("budget", {"epsilon": "3", "delta": "0", "form_token": token})
    assert status == 403
    assert "nothing was done" in text
    assert not (shared.folder / "people.budget.db").exists()


def test_the_cookie_is_kept_from_scripts_other_sites_and_other_ports(shared):
    _, headers, text = shared.send("GET", f"/?token={shared.token}")
    cookie = headers["Set-Cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert f"path={shared.home}" in cookie
    assert len(shared.home) > 12
    assert shared.token not in cookie + text


def test_every_answer_is_dressed(studio):
    studio.state()
    for screen in (
        "study",
        "variables",
        "persons",
        "plan",
        "check",
        "budget",
        "release",
        "verify",
        "style.css",
        "nowhere",
    ):
        status, headers, text = studio.get(screen)
        assert status == (404 if screen == "nowhere" else 200)
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; img-src data:; form-action 'self'")
        assert "unsafe" not in policy
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Server"] is None
        assert not re.search(r"<script|\son\w+=|style=|javascript:", text)
        assert not re.search(r'(href|src|action)="(https?:|//)', text)
    assert studio.send("GET", "/")[1]["Cache-Control"] == "no-store"


def test_a_confirmation_works_once(studio):
    studio.state().ask()
    nonce = studio.nonce()
    assert studio.post("confirm", {"nonce": nonce, "amount": "1"})[0] == 303
    for _ in range(3):
        status, headers, _ = studio.post("confirm", {"nonce": nonce, "amount": "1"})
        assert (status, headers["Location"]) == (303, "progress")
    assert "Read the report" in studio.get("progress")[2]
    studio.post("confirm", {"nonce": nonce, "amount": "1"})
    assert len(spent(studio)) == 2  # one release: a choice and its coefficients
    assert "did not arrive" not in studio.get("release")[2]
    studio.ask()
    assert len(studio.folder.joinpath("study.report-1.json").read_text()) > 1000
    studio.post("confirm", {"nonce": studio.nonce(), "amount": "1"})
    assert "Read the report" in studio.get("progress")[2]
    assert len(spent(studio)) == 4
    assert studio.send_form("confirm", {"nonce": nonce, "amount": "1"}).count("used or cancelled") == 1
    assert studio.ask("2")[1]["Location"] == "release"  # 1 of 3 is left
    assert "Not enough budget" in studio.get("release")[2]
    assert len(spent(studio)) == 4


def test_a_wrong_amount_or_nonce_charges_nothing(studio):
    studio.state().ask()
    nonce = studio.nonce()
    for amount in ("", "2", "1e", "nan", "0x1", "1,0", "-1", "1" * 5000):
        assert "not the amount" in studio.send_form("confirm", {"nonce": nonce, "amount": amount})
    for wrong in ("", "x", nonce + "x", "é"):
        assert "used or cancelled" in studio.send_form("confirm", {"nonce": wrong, "amount": "1"})
    assert spent(studio) == ()
    assert studio.post("confirm", {"nonce": nonce, "amount": "1.0"})[0] == 303


def test_sixty_requests_at_once_spend_once(studio):
    studio.state().ask()
    nonce = studio.nonce()
    gate = threading.Barrier(20)

    def confirm(place):
        if place < 20:
            gate.wait()
        return studio.post("confirm", {"nonce": nonce, "amount": "1"})[1]["Location"]

    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(confirm, range(60))) == {"progress"}
    assert "Read the report" in studio.get("progress")[2]
    assert len(spent(studio)) == 2
    with ThreadPoolExecutor(20) as pool:
        looks = list(
            pool.map(lambda place: studio.get(("study", "variables", "budget", "report-1")[place % 4])[0], range(60))
        )
    assert looks == [200] * 60


def test_a_study_that_was_changed_after_the_price_was_seen_is_not_released(studio):
    studio.state().ask()
    nonce = studio.nonce()
    study = studio.folder / "study.toml"
    study.write_text(study.read_text().replace("upper = 90.0", "upper = 99.0"))
    assert "changed since" in studio.send_form("confirm", {"nonce": nonce, "amount": "1"})
    assert spent(studio) == ()


@pytest.mark.parametrize(
    "path",
    [
        "../../../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "style.css/../../study.toml",
        "report-../../x",
        "page-1/../../people.csv",
        "page--1",
        "json-0x1",
        "people.csv",
        "study.toml",
        "json-" + "9" * 500,
    ],
)
def test_no_address_reaches_a_file(shared, path):
    shared.post("study", {"address": "people.csv"})
    status, _, text = shared.get(path)
    assert status in (403, 404) or "There is no report" in text
    assert "root:" not in text
    assert "north" not in text
    assert "lower" not in text


def test_a_report_is_found_by_its_number_alone(shared):
    (shared.folder.parent / "study.report-7.html").write_text("secret")
    for number in ("7", "../study.report-7", "..%2f7"):
        assert "secret" not in shared.get(f"page-{number}")[2]
        assert "secret" not in shared.send_form("verify", {"number": number})


def test_names_with_markup_stay_text(studio):
    name = "<script>alert(1)</script>\"'&amp;{{7*7}}"
    quoted = name.replace('"', '""')
    (studio.folder / "odd.csv").write_text(f'"{quoted}",y\n1,2\n3,4\n')
    assert studio.post("study", {"address": "odd.csv"})[0] == 303
    for screen in ("study", "variables", "persons"):
        text = studio.get(screen)[2]
        assert "<script" not in text
        assert "49" not in re.sub(r'value="[^"]*"', "", text)
    form = {"seen": "", "name.0": name, "kind.0": "number", "use.0": "predictor", "lower.0": "<b>", "upper.0": '"><i>'}
    form |= {"name.1": "y", "kind.1": "number", "use.1": "response", "lower.1": "0", "upper.1": "9"}
    text = studio.send_form("variables", form)
    assert "<b>" not in text
    assert "<i>" not in text
    form |= {"lower.0": "0", "upper.0": "9"}
    assert studio.post("variables", form)[1]["Location"] == "persons"
    assert studio.post("budget", {"epsilon": "50", "delta": "1e-5"})[0] == 303
    title = "</title><script>alert(2)</script>"
    assert studio.post("release", {"epsilon": "40", "delta": "0", "title": title})[0] == 303
    assert "<script" not in studio.get("confirm")[2]
    assert studio.post("confirm", {"nonce": studio.nonce(), "amount": "40"})[0] == 303
    assert "Read the report" in studio.get("progress")[2]
    assert "<script" not in studio.get("report-1")[2]
    assert re.findall(r"<script[^>]*>", studio.get("page-1")[2]) == ['<script type="application/json" id="release">']


@pytest.mark.parametrize("kind", [FORM, "multipart/form-data; boundary=x"])
def test_ten_megabytes_are_refused_and_said_so(shared, kind):
    headers = {"Cookie": shared.cookie, "Origin": f"http://{shared.host}", "Content-Type": kind}
    body = f"form_token={shared.form_token}&address=".encode() + b"a" * (10 << 20)
    status, _, text = shared.send("POST", shared.home + "study", body, headers)
    assert status == 413
    assert "too large" in text
    assert shared.get("study")[0] == 200


def test_forms_that_are_none_are_refused(shared):
    headers = {"Cookie": shared.cookie, "Origin": f"http://{shared.host}"}
    many = "&".join(f"a{i}=" for i in range(60_000))
    for kind, body in [
        (FORM, b"\xff\xfe=1"),
        (FORM, b"no equals sign"),
        (FORM, many.encode()),
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\n\r\n--x--"),
        ("application/json", b"{}"),
        ("", b""),
    ]:
        status, _, text = shared.send("POST", shared.home + "study", body, {**headers, "Content-Type": kind})
        assert status in (400, 403), (kind, body[:20])
        assert "Traceback" not in text
    assert shared.send("PUT", shared.home + "study", b"", headers)[0] == 405
    assert shared.get("study")[0] == 200


@pytest.mark.parametrize(
    "text", ["{}", "[]", "null", '{"format": 1}', "<html>", "[" * 100_000, "\x00", '{"format": "dpselect report 1"}']
)
def test_what_is_no_report_is_said_to_be_none(shared, text):
    answer = shared.send_form("verify", {"report": text})
    assert ": OK." not in answer
    assert 'role="alert"' in answer


def test_nothing_private_is_in_an_address_a_title_or_a_log(studio):
    studio.state().ask()
    pages = [
        studio.get(screen)
        for screen in ("study", "variables", "persons", "plan", "check", "budget", "release", "confirm")
    ]
    assert studio.post("check", {})[0] == 303
    for _, _, text in pages:
        title = re.search("<title>(.*?)</title>", text).group(1)
        assert title.endswith("dpselect studio")
        for word in ("3000", "3,000", "people", "income", "education"):
            assert word not in title
        for address in re.findall(r'(?:href|action)="([^"]*)"', text):
            assert "?" not in address
    studio.post("study", {"address": "postgresql://reader:s3cret@127.0.0.1:9/none?table=people"})
    code, out, err = studio.stop()
    assert (code, out, err) == (0, "", "")


def test_a_password_is_never_shown_again(shared):
    text = shared.send_form("study", {"address": "postgresql://reader:s3cret@127.0.0.1:9/none?table=people"})
    assert 'role="alert"' in text
    assert "s3cret" not in text
    assert "s3cret" not in shared.get("study")[2]


def test_an_edit_in_another_tab_is_not_lost_in_silence(studio):
    studio.post("study", {"address": "people.csv"})
    for _ in range(2):  # twice the same: a double click
        assert studio.post("variables", variables())[1]["Location"] == "persons"
    text = studio.send_form("variables", variables({"age": {"upper": "95"}}))
    assert "changed elsewhere" in text
    assert "upper = 90.0" in (studio.folder / "study.toml").read_text()
