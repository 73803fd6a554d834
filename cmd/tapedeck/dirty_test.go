// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// TestATapeWithSecretsIsSaidToHoldThem where it is shown, and does not leave unless that is asked for. One
// that was redacted is shown as ever.
func TestATapeWithSecretsIsSaidToHoldThem(t *testing.T) {
	telemetry := plantedRuns + "genkit/secrets.otlp.json"
	_, secrets := plantedSecrets(t)
	const warning = "this tape holds "
	for _, layout := range []string{"files", "reels"} {
		dirty, clean := t.TempDir(), t.TempDir()
		var ids [2]string
		for i, args := range [][]string{{"--redact", "off", "--to", dirty}, {"--redaction-key-file", write(t, "key", "0123456789abcdefghijklmnopqrstuv"), "--to", clean}} {
			got := tapedeck(t, append([]string{"derive", telemetry, "--layout", layout}, args...)...)
			if got.code != exitOK || len(lines(t, got.stdout)) == 0 {
				t.Fatal(got)
			}
			ids[i] = lines(t, got.stdout)[0].RunID
		}
		// show
		got := tapedeck(t, "show", ids[0], "--deck", dirty)
		first, rest, _ := strings.Cut(got.stdout, "\n")
		if got.code != exitOK || !strings.HasPrefix(first, warning) || !strings.HasSuffix(first, "nothing has redacted it; tapedeck verify --secrets says where") || strings.Contains(rest, warning) || got.stderr != "" {
			t.Errorf("%s: %s\n%s", layout, first, got.stderr)
		}
		for _, s := range secrets {
			if strings.Contains(first, s) {
				t.Error("the line holds a secret")
			}
		}
		if got := tapedeck(t, "show", ids[0], "--deck", dirty, "--json"); got.code != exitOK || !strings.HasPrefix(got.stdout, `{"kind"`) || strings.Contains(got.stdout, warning) || !strings.Contains(got.stderr, warning) {
			t.Errorf("%s: %.200s\n%s", layout, got.stdout, got.stderr)
		}
		page := filepath.Join(t.TempDir(), "page.html")
		if got := tapedeck(t, "show", ids[0], "--deck", dirty, "--html", page); got.code != exitOK || !strings.Contains(got.stderr, warning) || !strings.Contains(readAll(t, page), `<p class="notice bad">`+warning) {
			t.Errorf("%s: %+v", layout, got)
		}
		// export
		for _, format := range []string{"waza", "otlp"} {
			out := t.TempDir()
			got := tapedeck(t, "export", ids[0], "--deck", dirty, "--format", format)
			if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "not written: "+warning) || !strings.Contains(got.stderr, "--allow-dirty") {
				t.Errorf("%s, %s: %+v", layout, format, got)
			}
			if got := tapedeck(t, "export", ids[0], "--deck", dirty, "--format", format, "-o", out); got.code != exitFailed || len(contents(t, out)) != 0 {
				t.Errorf("%s, %s: %+v", layout, format, got)
			}
			if got := tapedeck(t, "export", ids[0], "--deck", dirty, "--format", format, "-o", out, "--allow-dirty"); got.code != exitOK || len(contents(t, out)) != 1 {
				t.Errorf("%s, %s: %+v", layout, format, got)
			}
		}
		// One of two is written, and the code says that it is one.
		both := t.TempDir()
		for _, file := range []string{telemetry, forge} {
			if got := tapedeck(t, "derive", file, "--to", both, "--redact", "off", "--layout", layout); got.code != exitOK {
				t.Fatal(got)
			}
		}
		if got := tapedeck(t, "export", both, "--format", "waza", "--json", "-o", t.TempDir()); got.code != exitPartial || strings.Count(got.stdout, "\n") != 1 || !strings.Contains(got.stdout, forgeRun) {
			t.Errorf("%s: %+v", layout, got)
		}
		// The redacted tape.
		if got := tapedeck(t, "show", ids[1], "--deck", clean); got.code != exitOK || strings.Contains(got.stdout+got.stderr, warning) {
			t.Errorf("%s: %+v", layout, got)
		}
		for _, format := range []string{"waza", "otlp"} {
			if got := tapedeck(t, "export", ids[1], "--deck", clean, "--format", format); got.code != exitOK || got.stdout == "" {
				t.Errorf("%s, %s: %+v", layout, format, got)
			}
		}
	}
}

// A tape that somebody hands over is searched whatever it says of its redaction: it has entered no deck
// through the gate.
func TestAFileIsNotTrustedForWhatItSaysOfItsRedaction(t *testing.T) {
	got := tapedeck(t, "derive", forge, "--to", t.TempDir(), "--redaction-key-file", write(t, "key", "0123456789abcdefghijklmnopqrstuv"))
	if got.code != exitOK {
		t.Fatal(got)
	}
	tape := tapedeck(t, "show", lines(t, got.stdout)[0].URL, "--json").stdout
	loose := filepath.Join(t.TempDir(), deck.TapeFile)
	altered := strings.Replace(tape, `"user_message":"`, `"user_message":"mail jane.doe@corp-mail.com `, 1)
	if altered == tape {
		t.Fatal("no question")
	}
	if err := os.WriteFile(loose, []byte(altered), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, "show", loose, "--allow-unverified"); got.code != exitOK || !strings.HasPrefix(got.stdout, "this tape holds 1 value that redaction should have replaced (email 1): it says that it was redacted") {
		t.Errorf("%.300s\n%s", got.stdout, got.stderr)
	}
}
