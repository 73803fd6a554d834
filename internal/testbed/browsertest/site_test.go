// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package browsertest

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The documents as `make site` makes them: no page asks for anything but itself, its style and its images, in the light and in the dark everything can be read, and a
// narrow screen has nothing to scroll sideways but tables and code.
func TestSiteOfTheDocumentsInABrowser(t *testing.T) {
	b := start(t)
	dir := t.TempDir()
	make := exec.CommandContext(t.Context(), "go", "-C", "../../../tools", "run", "./site", "-root", "..", "-out", dir)
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for i, page := range append(pages, filepath.Join(dir, "repository", "README.html")) {
		name, err := filepath.Rel(dir, page)
		if err != nil {
			t.Fatal(err)
		}
		scheme := []string{"light", "dark"}[i%2]
		var sideways bool
		b.do(t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}), emulation.SetDeviceMetricsOverride(360, 800, 1, false),
			chromedp.Navigate(server.URL+"/"+filepath.ToSlash(name)), chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &sideways))
		b.until(t, `document.querySelector("main h1")`)
		if sideways {
			t.Errorf("%s is wider than a telephone", name)
		}
		if i < 6 || strings.HasSuffix(name, "README.html") {
			b.accessible(t, name+" in the "+scheme)
		}
		b.quiet(t, name, server.URL)
	}
}
