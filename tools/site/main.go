// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command site makes pages for a browser of the documents: those of docs/README.md in the order in which it names them, and every Markdown file of the repository
// that these lead to. The pages load one style sheet and nothing else, have no scripts, and work from a folder as from a server. A link that leads nowhere is an error.
//
//	go run ./site -root .. -out ../build/site
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	index = "docs/README.md"
	// source is where files that are no pages are read.
	source = "https://github.com/tapedeck/tapedeck/blob/main/"
)

var (
	//go:embed style.css
	style []byte
	//go:embed icon.svg
	icon []byte
)

func main() {
	root := flag.String("root", ".", "directory of the repository")
	out := flag.String("out", "build/site", "directory of the pages; what is in it is replaced")
	order := flag.Bool("order", false, "instead, write into each document where it stands in the order")
	flag.Parse()
	do := func() error { return run(*root, *out) }
	if *order {
		do = func() error { return writeOrder(*root) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	s, err := read(os.DirFS(root))
	if err != nil {
		return err
	}
	files, err := s.files()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for name, body := range files {
		at := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, body, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%d files in %s, begin with index.html\n", len(files), out)
	return nil
}

// page is one Markdown file.
type page struct {
	path  string // within the repository, with slashes
	title string
	text  []byte
	tree  ast.Node
	ids   map[string]bool
}

// section is a heading of the index and the pages that it names first.
type section struct {
	Title string
	Pages []*page
}

type site struct {
	repository fs.FS
	pages      map[string]*page
	sections   []section
	order      []*page // the index and the pages of all sections
	copied     map[string]bool
}

// read reads the index and what it leads to.
func read(repository fs.FS) (*site, error) {
	s := &site{repository: repository, pages: map[string]*page{}, copied: map[string]bool{}}
	first, err := s.load(index)
	if err != nil {
		return nil, err
	}
	for waiting := []*page{first}; len(waiting) > 0; waiting = waiting[1:] {
		for _, target := range waiting[0].targets() {
			if path.Ext(target) != ".md" || s.pages[target] != nil {
				continue
			}
			if _, err := fs.Stat(repository, target); err != nil {
				continue // files says where this link stands
			}
			found, err := s.load(target)
			if err != nil {
				return nil, err
			}
			waiting = append(waiting, found)
		}
	}
	s.arrange(first)
	return s, nil
}

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Linkify, extension.Strikethrough, extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))), // the policy allows no style within a page
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(wideTables{}, 100))), // the HTML in the documents is ours
)

func (s *site) load(name string) (*page, error) {
	body, err := fs.ReadFile(s.repository, name)
	if err != nil {
		return nil, err
	}
	ids := headingIDs{}
	body = orderLine.ReplaceAll(body, nil)
	p := &page{path: name, text: body, ids: ids}
	p.tree = markdown.Parser().Parse(text.NewReader(body), parser.WithContext(parser.NewContext(parser.WithIDs(ids))))
	for _, m := range rawID.FindAllSubmatch(body, -1) {
		ids[string(m[1])] = true
	}
	p.title = name
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 1 {
			p.title = plain(h, body)
			break
		}
	}
	s.pages[name] = p
	return p, nil
}

// plain is the text of a node without its marks.
func plain(n ast.Node, body []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(body))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// headingIDs names headings as GitHub does, so that one link serves both.
type headingIDs map[string]bool

// Generate implements parser.IDs.
func (ids headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	value = inlineLink.ReplaceAll(value, []byte("$1"))
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, string(value))
	unique := id
	for n := 1; ids[unique]; n++ {
		unique = id + "-" + strconv.Itoa(n)
	}
	ids[unique] = true
	return []byte(unique)
}

// Put implements parser.IDs.
func (ids headingIDs) Put(value []byte) { ids[string(value)] = true }

var (
	inlineLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	rawID      = regexp.MustCompile(`<a id="([a-z-]+)"></a>`)
	rawLink    = regexp.MustCompile(`\b(src|href)="([^"]*)"`)
)

// visit calls f for each address in a page, which may be changed.
func (p *page) visit(f func(address *[]byte)) {
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			f(&n.Destination)
		case *ast.Image:
			f(&n.Destination)
		}
		return ast.WalkContinue, nil
	})
}

// local takes an address apart that leads to a file of the repository.
func (p *page) local(address string) (target, anchor string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return "", "", false
	}
	if u.Path == "" {
		return p.path, u.Fragment, true
	}
	return path.Join(path.Dir(p.path), u.Path), u.Fragment, true
}

func (p *page) targets() (all []string) {
	p.visit(func(address *[]byte) {
		if target, _, ok := p.local(string(*address)); ok {
			all = append(all, target)
		}
	})
	return all
}

// arrange reads the order of the pages from the lists of the index: each heading of the second level is a section, and a page stands where it is named first.
func (s *site) arrange(first *page) {
	s.order = []*page{first}
	named := map[*page]bool{first: true}
	for n := first.tree.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level == 2 {
			s.sections = append(s.sections, section{Title: plain(h, first.text)})
		}
		if len(s.sections) == 0 || n.Kind() != ast.KindList {
			continue
		}
		_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if link, ok := n.(*ast.Link); ok && entering {
				target, _, local := first.local(string(link.Destination))
				if p := s.pages[target]; local && p != nil && !named[p] {
					named[p] = true
					last := &s.sections[len(s.sections)-1]
					last.Pages = append(last.Pages, p)
					s.order = append(s.order, p)
				}
			}
			return ast.WalkContinue, nil
		})
	}
}

// address is where a page lies in the site.
func address(name string) string {
	if name == index {
		return "index.html"
	}
	if rest, page := strings.CutSuffix(name, ".md"); page {
		name = rest + ".html"
	}
	if rest, ok := strings.CutPrefix(name, "docs/"); ok {
		return rest
	}
	return "repository/" + name
}

// between is the relative address of one file of the site in another.
func between(from, to string) string {
	return strings.Repeat("../", strings.Count(from, "/")) + to
}

// files are all files of the site, or every link that leads nowhere.
func (s *site) files() (map[string][]byte, error) {
	out := map[string][]byte{"style.css": style, "icon.svg": icon}
	var wrong []error
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range s.pages {
			if !yield(name) {
				return
			}
		}
	}) {
		p := s.pages[name]
		body, err := s.render(p)
		wrong = append(wrong, err)
		out[address(name)] = body
	}
	for name := range s.copied {
		body, err := fs.ReadFile(s.repository, name)
		wrong = append(wrong, err)
		out[address(name)] = body
	}
	return out, errors.Join(wrong...)
}

// lead is the address of a target within the site: of a page, of a file that is copied, or of the source.
func (s *site) lead(p *page, target, anchor string) (string, error) {
	info, err := fs.Stat(s.repository, target)
	found := s.pages[target]
	if err == nil && info.IsDir() {
		if found = s.pages[path.Join(target, "README.md")]; found == nil {
			return source + target, nil
		}
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %s leads nowhere", p.path, target)
	case found == nil && (strings.HasPrefix(target, "docs/") && path.Ext(target) != ".md"):
		s.copied[target] = true
		return between(address(p.path), address(target)), nil
	case found == nil:
		return source + target, nil
	case anchor != "" && !found.ids[anchor]:
		return "", fmt.Errorf("%s: %s has no heading %s", p.path, target, anchor)
	case anchor != "":
		anchor = "#" + anchor
	}
	if found == p && anchor != "" {
		return anchor, nil
	}
	return between(address(p.path), address(found.path)) + anchor, nil
}

var frame = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}{{if ne .Title "tapedeck"}} · tapedeck{{end}}</title>
<link rel="stylesheet" href="{{.Up}}style.css">
<link rel="icon" href="{{.Up}}icon.svg">
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<div class="sheet">
<nav class="contents" aria-label="All documents">
<a href="{{.Up}}index.html"{{if .Home}} aria-current="page"{{end}}><strong>tapedeck</strong></a>
{{- range .Sections}}
<h2>{{.Title}}</h2>
<ul>
{{- range .Pages}}
<li><a href="{{.Address}}"{{if .Here}} aria-current="page"{{end}}>{{.Title}}</a></li>
{{- end}}
</ul>
{{- end}}
</nav>
<main id="text">
{{- if .Section}}
<p class="where"><a href="{{.Up}}index.html">Documents</a> › {{.Section}}</p>
{{- end}}
{{.Body}}
{{- if or .Before .After}}
<nav class="turn" aria-label="Pages before and after">
<span>{{with .Before}}<a rel="prev" href="{{.Address}}">← {{.Title}}</a>{{end}}</span>
<span>{{with .After}}<a rel="next" href="{{.Address}}">{{.Title}} →</a>{{end}}</span>
</nav>
{{- end}}
</main>
</div>
</body>
</html>
`))

type entry struct {
	Title, Address string
	Here           bool
}

func (s *site) render(p *page) ([]byte, error) {
	var wrong []error
	lead := func(to string) string {
		target, anchor, ok := p.local(to)
		if !ok {
			return to
		}
		found, err := s.lead(p, target, anchor)
		wrong = append(wrong, err)
		return found
	}
	p.visit(func(to *[]byte) { *to = []byte(lead(string(*to))) })
	var body bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.text, p.tree); err != nil {
		return nil, err
	}
	content := bytes.ReplaceAll(body.Bytes(), []byte("<pre><code"), []byte(`<pre tabindex="0"><code`)) // long lines are scrolled, with keys too
	// What stands as HTML in a document has its addresses as they were; those of the renderer are known already.
	content = rawBlock.ReplaceAllFunc(content, func(tag []byte) []byte {
		return rawLink.ReplaceAllFunc(tag, func(m []byte) []byte {
			parts := rawLink.FindSubmatch(m)
			return fmt.Appendf(nil, `%s="%s"`, parts[1], lead(string(parts[2])))
		})
	})
	at := address(p.path)
	data := struct {
		Title, Up, Section string
		Home               bool
		Sections           []struct {
			Title string
			Pages []entry
		}
		Body          template.HTML
		Before, After *entry
	}{Title: p.title, Up: between(at, ""), Home: p.path == index, Body: template.HTML(content)}
	link := func(to *page) entry {
		return entry{to.title, between(at, address(to.path)), to == p}
	}
	for _, section := range s.sections {
		shown := struct {
			Title string
			Pages []entry
		}{Title: section.Title}
		for _, to := range section.Pages {
			shown.Pages = append(shown.Pages, link(to))
			if to == p {
				data.Section = section.Title
			}
		}
		data.Sections = append(data.Sections, shown)
	}
	if i := slices.Index(s.order, p); i >= 0 {
		if i > 0 {
			e := link(s.order[i-1])
			data.Before = &e
		}
		if i+1 < len(s.order) {
			e := link(s.order[i+1])
			data.After = &e
		}
	}
	var out bytes.Buffer
	err := frame.Execute(&out, data)
	return out.Bytes(), errors.Join(append(wrong, err)...)
}

// rawBlock is a tag that only a document writes: the renderer writes images without a width.
var rawBlock = regexp.MustCompile(`<img [^>]*width="[^>]*>`)

// wideTables lets a table scroll by itself where the screen is narrow, with keys too.
type wideTables struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (wideTables) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(east.KindTable, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table>\n")
		} else {
			_, _ = w.WriteString("</table></div>\n")
		}
		return ast.WalkContinue, nil
	})
}
