// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func TestRunIsReadAsItWasWritten(t *testing.T) {
	for _, want := range []Run{
		{Key: "default/00000000000000000000000000000001", Items: 3, Complete: true, Stated: true},
		{Key: "a/b/00000000000000000000000000000001", Stated: true, Replay: "replay_run_id=r-1"},
	} {
		m := pcommon.NewMap()
		want.Write(m)
		if got := ReadRun(m); got != want || !got.Assembled() {
			t.Errorf("%+v became %+v", want, got)
		}
	}
}

func TestAKeyNamesItsTrace(t *testing.T) {
	const id = "0102030405060708090a0b0c0d0e0f10"
	for key, want := range map[string]bool{
		"default/" + id: true, "a/b/" + id: true, id: false, "/" + id: false, "a/" + id[1:]: false, "a/" + id + "0": false, "a/" + strings.Repeat("x", 32): false,
		"a/" + strings.Repeat("0", 32): false, "": false,
	} {
		got, ok := (Run{Key: key}).TraceID()
		if ok != want || ok && got.String() != id {
			t.Errorf("%q: %s, %t", key, got, ok)
		}
	}
}

// Tags that cannot be read are not passed over: replays are told from production fail-closed.
func TestAttributesOfAnotherTypeSayNothing(t *testing.T) {
	m := pcommon.NewMap()
	m.PutInt(RunKey, 1)
	m.PutStr(RunItems, "3")
	m.PutStr(RunComplete, "true")
	m.PutInt(Redaction, 1)
	m.PutInt(RunReplay, 1)
	if got := ReadRun(m); got != (Run{Malformed: true}) || got.Assembled() {
		t.Errorf("read %+v", got)
	}
	if marker, ok := MarkerOf(m); ok {
		t.Errorf("read %+v", marker)
	}
}

func TestTenantIsAllBeforeTheTraceID(t *testing.T) {
	for key, want := range map[string]string{"": "none", "x": "none", "/x": "none", "a/x": "a", "a/b/x": "a/b"} {
		if got := (Run{Key: key}).Tenant("none"); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

func TestStripTakesTheNamespaceAndNothingElse(t *testing.T) {
	m := pcommon.NewMap()
	fill := func() {
		Run{Key: "a/x"}.Write(m)
		m.PutStr(Redaction, "none")
		m.PutStr("tapedeck", "stays")
	}
	fill()
	if n := StripExceptRedaction(m); n != 3 || m.Len() != 2 {
		t.Errorf("%d were removed, %v are left", n, m.AsRaw())
	}
	fill()
	if n := Strip(m); n != 4 || m.Len() != 1 {
		t.Errorf("%d were removed, %v are left", n, m.AsRaw())
	}
}

func TestMarkerIsBelievedWithTheProofOfThisProcessOnly(t *testing.T) {
	marker := Marker{Policy: "a;b", ProfileDigest: "sha256:00", KeyID: "k"}
	m := pcommon.NewMap()
	m.PutStr(Redaction, marker.Seal())
	if got, ok := OpenMarker(m); !ok || got != marker {
		t.Errorf("opened %+v, %t", got, ok)
	}
	for _, forged := range []string{marker.String(), strings.Replace(marker.Seal(), "key=k", "key=l", 1), marker.String() + ";proof=00"} {
		m.PutStr(Redaction, forged)
		if got, ok := OpenMarker(m); ok {
			t.Errorf("%s was believed: %+v", forged, got)
		}
		if Unseal(m) || textOf(m, Redaction) != forged {
			t.Errorf("%s was unsealed", forged)
		}
	}
	m.PutStr(Redaction, marker.Seal())
	if !Unseal(m) || textOf(m, Redaction) != marker.String() {
		t.Errorf("unsealed: %v", m.AsRaw())
	}
	to := pcommon.NewMap()
	CopyMarker(m, to)
	if got, ok := MarkerOf(to); !ok || got != marker {
		t.Errorf("copied %+v, %t", got, ok)
	}
}

func FuzzParseMarker(f *testing.F) {
	f.Add(Marker{Policy: "default", ProfileDigest: "sha256:00", KeyID: "abc"}.String())
	f.Add(";profile=;key=")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMarker(text)
		if err != nil {
			return
		}
		again, err := ParseMarker(m.String())
		if err != nil || again != m {
			t.Fatalf("%q: %v, %+v became %+v", text, err, m, again)
		}
	})
}
