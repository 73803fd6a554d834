// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// frozen runs a program with a clock that is moved into the spring of 2020, and returns what it prints.
func frozen(t *testing.T, dir, seed, report string, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	c := Config{Dir: dir, Report: report, Freeze: &Freeze{Offset: time.Until(time.Date(2020, 4, 5, 12, 0, 0, 0, time.UTC)), Seed: seed}}
	cmd.Env = c.Environ(append(os.Environ(), "TZ=UTC"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

const pythonClock = `
import datetime, os, random, time, uuid
from datetime import date, datetime as dt
a = time.time()
for text in (dt.now().isoformat(), dt.now(datetime.timezone.utc).isoformat(), dt.utcnow().isoformat(), dt.today().isoformat(), date.today().isoformat(),
             time.strftime("%Y-%m-%d"), time.asctime(), time.ctime(), str(time.gmtime().tm_year), dt.fromtimestamp(time.time_ns() / 1e9).isoformat(),
             dt.fromtimestamp(time.clock_gettime(time.CLOCK_REALTIME)).isoformat()):
    assert "2020" in text, text
assert type(dt.now()) is datetime.datetime and isinstance(dt(1999, 1, 1), datetime.datetime)
class Own(dt):
    pass
assert type(Own.now()) is Own
time.sleep(0.02)
assert 0.02 <= time.time() - a < 60
assert time.strftime("%Y", time.gmtime(0)) == "1970" and time.ctime(0).endswith("1970")
print(uuid.uuid4(), uuid.uuid1(), random.random(), hash("x"), flush=True)
if os.fork() == 0:
    print(uuid.uuid4(), flush=True)
    os._exit(0)
os.wait()
print(uuid.uuid4(), flush=True)
`

const nodeClock = `
import assert from "node:assert";
import { randomUUID } from "node:crypto";
import { randomUUID as again } from "crypto";
const a = Date.now();
for (const text of [new Date().toISOString(), new Date(Date.now()).toISOString(), Date(), new Intl.DateTimeFormat("en-US", { year: "numeric" }).format(new Date()), new Date(performance.timeOrigin).toISOString()])
  assert.match(text, /2020/);
assert(new Date() instanceof Date && new Date().constructor === Date && new Date(0).getTime() === 0 && new Date(1999, 1, 1).getFullYear() === 1999 && Date.UTC(1970, 0, 1) === 0);
class Own extends Date {}
assert(new Own() instanceof Own && new Own().getFullYear() === 2020);
await new Promise((done) => setTimeout(done, 20));
assert(Date.now() - a >= 19 && Date.now() - a < 60000);
console.log(randomUUID(), again(), globalThis.crypto.randomUUID(), Math.random());
assert.match(randomUUID(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
`

// TestFrozenProgramsHaveTheRecordedClockAndTheSameNumbers runs each program twice with one seed, once with
// another, and once without.
func TestFrozenProgramsHaveTheRecordedClockAndTheSameNumbers(t *testing.T) {
	for name, c := range map[string]struct{ file, text, runtime string }{
		"python3": {"clock.py", pythonClock, "Python "}, "node": {"clock.mjs", nodeClock, "Node "},
	} {
		t.Run(name, func(t *testing.T) {
			path := program(t, name)
			dir, script, report := written(t), filepath.Join(t.TempDir(), c.file), filepath.Join(t.TempDir(), "report")
			write(t, script, c.text)
			first := frozen(t, dir, "seed", report, path, script)
			if again := frozen(t, dir, "seed", report, path, script); again != first {
				t.Errorf("%s and then %s", first, again)
			}
			if other := frozen(t, dir, "another", report, path, script); other == first {
				t.Errorf("another seed gives the same: %s", other)
			}
			seen := map[string]bool{}
			for word := range strings.FieldsSeq(first) {
				if strings.Count(word, "-") == 4 && seen[word] {
					t.Errorf("%s comes twice", word)
				}
				seen[word] = true
			}
			r, err := Read(report)
			if err != nil || len(r.Frozen) != 1 {
				t.Fatalf("%+v %v", r, err)
			}
			for of, n := range r.Frozen {
				if !strings.HasPrefix(of, c.runtime) || n != 3 {
					t.Errorf("%s: %d", of, n)
				}
			}
			cmd := exec.CommandContext(t.Context(), path, script)
			cmd.Env = Config{Dir: dir}.Environ(os.Environ())
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("without it the clock is moved: %s", out)
			}
		})
	}
}

// Hashes are in one order where nobody wants another.
func TestFreezeSetsTheHashSeedUnlessItIsSet(t *testing.T) {
	c := Config{Dir: "d", Freeze: &Freeze{Seed: "s"}}
	if env := strings.Join(c.Environ(nil), " "); !strings.Contains(env, "PYTHONHASHSEED=0") || !strings.Contains(env, "TAPEDECK_FREEZE_OFFSET=0") {
		t.Error(env)
	}
	if env := strings.Join(c.Environ([]string{"PYTHONHASHSEED=7"}), " "); !strings.Contains(env, "PYTHONHASHSEED=7") || strings.Contains(env, "PYTHONHASHSEED=0") {
		t.Error(env)
	}
}
