// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
)

func TestURLErrorsNameTheProblemAndNoValue(t *testing.T) {
	const secret = "hunter2"
	for rawURL, want := range map[string]string{
		"":                               "empty",
		"ftp://host/" + secret:           "no driver",
		"gs://bucket":                    "no driver",
		"s3://key:" + secret + "@bucket": "credentials",
		"s3://bucket?secret_access_key=" + secret:           `unknown option "secret_access_key"`,
		"s3://bucket?region=a&region=" + secret:             "given twice",
		"s3://bucket?use_path_style=" + secret:              "true or false",
		"s3://bucket?max_retries=" + secret:                 "0 to 100",
		"s3://bucket?sse=" + secret:                         "AES256",
		"s3://bucket?endpoint=http://a:" + secret + "@host": "http://host:port",
		"s3://bucket?endpoint=http://host/" + secret:        "http://host:port",
		"s3://bucket?endpoint=ftp://host":                   "begins with http",
		"s3://ab/" + secret:                                 "valid bucket",
		"s3://bucket/%zz" + secret:                          "not a URL",
		"s3://bucket#" + secret:                             "fragment",
		"s3://bucket?a=%zz" + secret:                        "malformed",
		"file://host/" + secret:                             "three slashes",
		"file:///x?mode=" + secret:                          `unknown option "mode"`,
		"mem:///" + secret:                                  "mem://name",
		"mem://x?y=" + secret:                               "has none",
		"mem://x/../" + secret:                              "dot",
	} {
		_, err := deck.Open(t.Context(), rawURL)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) && want != "dot" || !deck.IsPermanent(err) {
			t.Errorf("%s: %v", rawURL, err)
		}
		if checked := deck.CheckURL(rawURL); checked == nil || checked.Error() != err.Error() {
			t.Errorf("%s: CheckURL says %v, Open %v", rawURL, checked, err)
		}
	}
}

func TestWhatTalksToNobodyAcceptsWhatMayWork(t *testing.T) {
	for _, rawURL := range []string{"s3://bucket/prefix?region=x", "file:///no/such/folder", "file:///etc/passwd", "mem://check-url"} {
		if err := deck.CheckURL(rawURL); err != nil {
			t.Errorf("%s: %v", rawURL, err)
		}
	}
}

// TestFileWhereTheFolderHasToBe: waiting does not help, other than for a folder that is not there yet.
func TestFileWhereTheFolderHasToBe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{file: true, filepath.Join(file, "below", "it"): true, filepath.Join(dir, "not", "yet"): false} {
		d, err := deck.Open(t.Context(), "file://"+filepath.ToSlash(path))
		if errors.Is(err, deck.ErrBadURL) != want {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			_ = d.Close()
		}
	}
}

func TestDeckStringHasNoOptions(t *testing.T) {
	d, err := deck.New(t.Context(), emptyStore(t), "s3://bucket/a?endpoint=http://127.0.0.1:1&region=x")
	if err != nil {
		t.Fatal(err)
	}
	if d.String() != "s3://bucket/a" || !strings.Contains(d.URL(), "region=x") {
		t.Errorf("%s, %s", d, d.URL())
	}
}
