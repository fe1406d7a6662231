"""An answer that grows does so on its beat, whatever the work does in between."""

import time

from .conftest import START

UNEVEN = """
import time
def release(order, tell):
    for pause in (0.05, 0.6, 0.05, 1.3):
        time.sleep(pause)
        tell("A step.")
from dpselect.use.studio import release_pages
release_pages.release = release
"""


def test_lines_come_on_the_beat(start):
    import http.client

    studio = start(beat=1.0, start=UNEVEN + START)
    studio.state().ask()
    assert studio.post("confirm", {"nonce": studio.nonce(), "amount": "1"})[0] == 303
    connection = http.client.HTTPConnection("127.0.0.1", studio.port)
    connection.request("GET", studio.home + "progress", headers={"Host": studio.host, "Cookie": studio.cookie})
    answer = connection.getresponse()
    began, moments = time.perf_counter(), []
    while part := answer.read1():
        if b"A step." in part:
            moments.append(time.perf_counter() - began)
    connection.close()
    assert 1 <= len(moments) <= 4
    for moment in moments:
        assert min(moment % 1.0, 1.0 - moment % 1.0) < 0.35, moments
