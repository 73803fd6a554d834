// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package look is what all pages for a browser have in common: one style sheet, the policy that goes with it,
// and the head of a page.
package look

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
)

// Style is the style sheet of all pages.
//
//go:embed style.css
var Style string

//go:embed head.html
var headText string

var styleDigest = sha256.Sum256([]byte(Style))

// Policy is the content security policy of a page that holds its style sheet. The page loads and runs
// nothing. The style sheet is allowed by its digest, so content cannot bring another.
var Policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(styleDigest[:]) + "'; base-uri 'none'; form-action 'none'"

// Head is the head of a page. The view of a page embeds it.
type Head struct {
	Title string
	// Linked pages load style sheet and script from their server, which sends their policy. Others hold both.
	Linked bool
}

// Policy is the policy of a page that is a file.
func (Head) Policy() string { return Policy }

// Style is the style sheet of a page that is a file.
func (Head) Style() template.CSS { return template.CSS(Style) }

// Template reads the text of a page that begins with {{template "head" .}}.
func Template(name, text string) *template.Template {
	return template.Must(template.Must(template.New(name).Parse(headText)).Parse(text))
}
