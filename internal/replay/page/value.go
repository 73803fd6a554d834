// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// value is recorded content as a page shows it: a text, or a tree of JSON.
type value struct {
	Absent bool
	Bad    bool   // an error
	Text   string // what is open
	Fold   string // what opens the rest; "" where there is none
	Rest   string
	Link   string // of what is left out
	Left   string // what is left out
	Tree   *node
	Table  *table
	InText bool // the tree stands in a text
}

// node is one value of JSON. One with children is an object or an array.
type node struct {
	Name     string // of a member, with its quotes and colon; "" in an array
	Text     string // of a scalar, or what stands for what is folded
	Class    string
	Children []node
	Open     bool
	Brackets [2]string
}

// Bounds of a tree.
const (
	treeBytes  = 16_000 // JSON of more bytes or values, or deeper, is shown as text
	treeValues = 2_000
	treeDepth  = 40
	treeOpen   = 30 // values that are open
)

// renderer makes values, and finds a text again that was left out.
type renderer struct {
	site  *Site
	shown int    // bytes of texts on the page
	find  string // the path of the text that is looked for
	found bool
	text  string
	word  string // events that do not hold it are left out
}

// link is the address of a page with a text that is left out.
func (r *renderer) link(path string, from int) string {
	return r.site.address("/text", "path", path, "from", strconv.Itoa(from))
}

// string shows a text. The path tells it from the others of its run.
func (r *renderer) string(path, s string) value {
	if r.find == path && !r.found {
		r.found, r.text = true, s
	}
	if v, ok := parsed(s); ok {
		if shown, ok := r.structured(v); ok {
			shown.InText = true
			return shown
		}
	}
	return r.plain(path, s)
}

func (r *renderer) plain(path, s string) value {
	if s == "" {
		return value{Text: `""`}
	}
	most := fileText
	if r.site != nil {
		most = siteText
		if r.shown > sitePage {
			most = crowdedText
		}
	}
	var v value
	if len(s) > most {
		at := boundary(s, most)
		v.Left = timeline.Size(len(s)-at) + " more"
		if r.site != nil {
			v.Link = r.link(path, at)
		} else {
			v.Left += ", left out: tapedeck show --json prints it"
		}
		s = s[:at]
	}
	r.shown += len(s)
	if len(s) > openText+openText/4 {
		head := cutAt(s, openText)
		v.Rest = timeline.Clean(s[head:])
		v.Fold = "… " + timeline.Size(len(s)-head) + " more …"
		s = s[:head]
	}
	v.Text = timeline.Clean(s)
	return v
}

// cutAt is where a text of more than n bytes is cut: behind a line, a word or a character.
func cutAt(s string, n int) int {
	for _, stop := range []string{"\n", " "} {
		if at := strings.LastIndex(s[:n], stop); at > n/2 {
			return at + 1
		}
	}
	return boundary(s, n)
}

// boundary is the last beginning of a character at n or before it.
func boundary(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// json shows a value of a tape.
func (r *renderer) json(path string, v exactjson.Value) value {
	switch v.Kind() {
	case exactjson.Absent:
		return value{Absent: true}
	case exactjson.String:
		return r.string(path, v.Str())
	}
	text := v.JSON()
	if r.find == path && !r.found {
		r.found, r.text = true, text
	}
	if shown, ok := r.structured(v); ok {
		return shown
	}
	return r.plain(path, text)
}

// parsed is the object or array that a text is.
func parsed(s string) (exactjson.Value, bool) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != '{' && s[0] != '[' || len(s) > treeBytes {
		return exactjson.Value{}, false
	}
	v, err := exactjson.ParseWithin(s, treeDepth, treeValues)
	return v, err == nil && v.Len() > 0
}

// structured makes a table or a tree of a value that is small enough for one.
func (r *renderer) structured(v exactjson.Value) (value, bool) {
	bytes := len(v.JSON())
	if r.find != "" || v.Depth() > treeDepth || bytes > treeBytes || r.site != nil && r.shown > sitePage {
		return value{}, false
	}
	r.shown += bytes
	if t := newTable(v); t != nil {
		return value{Table: t}, true
	}
	left, open := treeValues, treeOpen
	n := newNode(v, &left, &open)
	n.Open = true
	return value{Tree: &n}, left > 0
}

func newNode(v exactjson.Value, left, open *int) node {
	*left--
	switch v.Kind() {
	case exactjson.Object:
		n := node{Brackets: [2]string{"{", "}"}}
		n.fold(v.Len(), "member", "members", open)
		for _, m := range v.Members() {
			if *left <= 0 {
				break
			}
			c := newNode(m.Value, left, open)
			c.Name = timeline.OneLine(exactjson.StringValue(m.Name).JSON()) + ":"
			n.Children = append(n.Children, c)
		}
		return n
	case exactjson.Array:
		n := node{Brackets: [2]string{"[", "]"}}
		n.fold(v.Len(), "element", "elements", open)
		for i := range v.Len() {
			if *left <= 0 {
				break
			}
			n.Children = append(n.Children, newNode(v.At(i), left, open))
		}
		return n
	case exactjson.String:
		s := v.Str()
		if strings.Contains(s, "\n") {
			return node{Text: timeline.Clean(s), Class: "str many"}
		}
		return node{Text: timeline.Clean(exactjson.StringValue(s).JSON()), Class: "str"}
	}
	return node{Text: timeline.OneLine(v.JSON()), Class: "num"}
}

// fold says what stands for the children while they are folded.
func (n *node) fold(children int, one, many string, open *int) {
	if children > 0 {
		n.Text = timeline.Plural(children, one, many)
	}
	n.Open = *open > 0
	*open -= children
}
