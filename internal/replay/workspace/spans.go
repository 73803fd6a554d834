// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// Names of spans and attributes. One span speaks of the folder, one of each entry.
const (
	folderSpan = "tapedeck.workspace"
	entrySpan  = "tapedeck.workspace.entry"

	attrPath     = "workspace.path"
	attrKind     = "workspace.kind"
	attrMode     = "workspace.mode"
	attrModified = "workspace.modified"
	attrContent  = "workspace.content"
	attrSHA256   = "workspace.sha256"
	attrTo       = "workspace.to"
	attrTracked  = "workspace.tracked"
	attrHead     = "workspace.head"
	attrDir      = "workspace.dir"
	attrCwd      = "workspace.cwd"
	attrEntries  = "workspace.entries"
	attrLeftOut  = "workspace.left_out"
	attrGit      = "workspace.git"
)

// Spans are all of it as spans of a trace, at the time at which the run had ended: where the evidence of a
// trace is bounded, the run comes first.
func (k *Kept) Spans(trace pcommon.TraceID, at time.Time) ptrace.Traces {
	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	ss.Scope().SetName(dialect.WorkspaceScope)
	ss.Spans().EnsureCapacity(len(k.Entries) + 1)
	add := func(name, id string) pcommon.Map {
		s := ss.Spans().AppendEmpty()
		sum := sha256.Sum256([]byte(name + "\x00" + id))
		s.SetTraceID(trace)
		s.SetSpanID(pcommon.SpanID(sum[:8]))
		s.SetName(name)
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(at))
		return s.Attributes()
	}
	m := add(folderSpan, k.Dir)
	m.PutStr(attrDir, k.Dir)
	if k.Cwd != "" {
		m.PutStr(attrCwd, k.Cwd)
	}
	m.PutInt(attrEntries, int64(len(k.Entries)))
	if len(k.LeftOut) > 0 {
		left := m.PutEmptyMap(attrLeftOut)
		for _, why := range slices.Sorted(maps.Keys(k.LeftOut)) {
			left.PutInt(why, int64(k.LeftOut[why]))
		}
	}
	if g := k.Git; g != nil {
		of := m.PutEmptyMap(attrGit)
		of.PutStr("branch", g.Branch)
		list := of.PutEmptySlice("commits")
		for _, c := range g.Commits {
			one := list.AppendEmpty().SetEmptyMap()
			one.PutStr("id", c.ID)
			one.PutStr("subject", c.Subject)
			one.PutStr("name", c.Name)
			one.PutStr("mail", c.Mail)
			one.PutInt("when", c.When.Unix())
		}
	}
	for i := range k.Entries {
		e := &k.Entries[i]
		m := add(entrySpan, e.Path)
		m.PutStr(attrPath, e.Path)
		m.PutStr(attrKind, string(e.Kind))
		m.PutInt(attrMode, int64(e.Mode.Perm()))
		if !e.Modified.IsZero() {
			m.PutInt(attrModified, e.Modified.UnixNano())
		}
		if e.Kind == File {
			putContent(m, attrContent, e.Content)
			m.PutStr(attrSHA256, e.SHA256)
		}
		if e.Kind == Link {
			m.PutStr(attrTo, e.To)
		}
		if e.Tracked {
			m.PutBool(attrTracked, true)
		}
		if e.Head != nil {
			putContent(m, attrHead, e.Head)
		}
	}
	return td
}

// putContent puts a text as a text, in which secrets are found best, and anything else as bytes.
func putContent(m pcommon.Map, name string, content []byte) {
	if utf8.Valid(content) && !slices.Contains(content, 0) {
		m.PutStr(name, string(content))
		return
	}
	m.PutEmptyBytes(name).FromRaw(content)
}

func content(m pcommon.Map, name string) []byte {
	v, ok := m.Get(name)
	switch {
	case !ok:
		return nil
	case v.Type() == pcommon.ValueTypeBytes:
		return v.Bytes().AsRaw()
	default:
		return []byte(v.Str())
	}
}

// Read reads what Spans wrote, as it came out of a deck: somebody may have written it who means ill. What
// leads out of the folder, stands there twice or is more than the limits is refused.
func Read(spans []ptrace.Span, limits Limits) (*Kept, error) {
	k := &Kept{}
	entries, folders := int64(-1), 0
	seen := map[string]Kind{}
	left := limits.Bytes
	for _, s := range spans {
		m := s.Attributes()
		text := func(name string) string {
			v, _ := m.Get(name)
			return v.Str()
		}
		number := func(name string) int64 {
			v, _ := m.Get(name)
			return v.Int()
		}
		if s.Name() == folderSpan {
			folders++
			k.Dir, k.Cwd, entries = text(attrDir), text(attrCwd), number(attrEntries)
			if left, ok := m.Get(attrLeftOut); ok && left.Type() == pcommon.ValueTypeMap {
				for why, n := range left.Map().All() {
					k.leave(why, int(n.Int()))
				}
			}
			if of, ok := m.Get(attrGit); ok && of.Type() == pcommon.ValueTypeMap {
				k.Git = readGit(of.Map())
			}
			continue
		}
		if s.Name() != entrySpan {
			continue
		}
		if len(k.Entries) >= limits.Entries {
			return nil, fmt.Errorf("%w: more than %d files and folders", ErrTooMuch, limits.Entries)
		}
		e := Entry{
			Path: text(attrPath), Kind: Kind(text(attrKind)), Mode: fs.FileMode(number(attrMode)) & fs.ModePerm, SHA256: text(attrSHA256), To: text(attrTo),
			Content: content(m, attrContent), Head: content(m, attrHead),
		}
		if at, ok := m.Get(attrModified); ok {
			e.Modified = time.Unix(0, at.Int())
		}
		if v, ok := m.Get(attrTracked); ok {
			e.Tracked = v.Bool()
		}
		if err := e.check(); err != nil {
			return nil, err
		}
		if _, twice := seen[e.Path]; twice {
			return nil, fmt.Errorf("the path %.200q stands there twice", e.Path)
		}
		seen[e.Path] = e.Kind
		if left -= int64(len(e.Content) + len(e.Head)); left < 0 {
			return nil, fmt.Errorf("%w: more than %d bytes in all", ErrTooMuch, limits.Bytes)
		}
		k.Entries = append(k.Entries, e)
	}
	switch {
	case folders == 0:
		return nil, errors.New("there is no workspace")
	case folders > 1:
		return nil, errors.New("there are several workspaces")
	case int64(len(k.Entries)) != entries:
		return nil, fmt.Errorf("%d of its %d entries are there", len(k.Entries), entries)
	case !filepath.IsAbs(k.Dir) || filepath.Clean(k.Dir) != k.Dir || k.Dir == string(filepath.Separator):
		return nil, fmt.Errorf("%.200q is no folder of a workspace", k.Dir)
	case k.Cwd != "" && !local(k.Cwd):
		return nil, fmt.Errorf("%.200q is no folder within the workspace", k.Cwd)
	}
	for name := range seen { // nothing lies below a file or a link
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if kind, known := seen[dir]; known && kind != Folder && seen[name] != Gone {
				return nil, fmt.Errorf("%.200q lies below %.200q, which is no folder", name, dir)
			}
		}
	}
	slices.SortFunc(k.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return k, nil
}

func readGit(m pcommon.Map) *Git {
	text := func(m pcommon.Map, name string) string {
		v, _ := m.Get(name)
		return v.Str()
	}
	g := &Git{Branch: text(m, "branch")}
	list, ok := m.Get("commits")
	if !ok || list.Type() != pcommon.ValueTypeSlice {
		return g
	}
	for i, v := range list.Slice().All() {
		if i == maxCommits || v.Type() != pcommon.ValueTypeMap {
			break
		}
		when, _ := v.Map().Get("when")
		g.Commits = append(g.Commits, Commit{
			ID: text(v.Map(), "id"), Subject: text(v.Map(), "subject"), Name: text(v.Map(), "name"), Mail: text(v.Map(), "mail"), When: time.Unix(when.Int(), 0).UTC(),
		})
	}
	return g
}

func local(name string) bool { return filepath.IsLocal(filepath.FromSlash(name)) }

// maxPath bounds the length of a path, and so how deep one leads.
const maxPath = 4096

func (e *Entry) check() error {
	switch {
	case e.Path == "" || len(e.Path) > maxPath || path.Clean(e.Path) != e.Path || e.Path == "." || !local(e.Path) || strings.ContainsAny(e.Path, "\x00"):
		return fmt.Errorf("%.200q is no path within the workspace", e.Path)
	case slices.Contains(strings.Split(e.Path, "/"), ".git"):
		return fmt.Errorf("%.200q belongs to git", e.Path)
	case e.Kind == Link && (e.To == "" || !within(e.Path, e.To)):
		return fmt.Errorf("the symlink %.200q leads out of the workspace", e.Path)
	case !slices.Contains([]Kind{File, Folder, Link, Gone}, e.Kind):
		return fmt.Errorf("%.200q is of no known kind", e.Path)
	}
	return nil
}

// Redacted are the files whose content is not what it was: what was secret in them is a token.
func (k *Kept) Redacted() (paths []string) {
	for i := range k.Entries {
		e := &k.Entries[i]
		if sum := sha256.Sum256(e.Content); e.Kind == File && hex.EncodeToString(sum[:]) != e.SHA256 {
			paths = append(paths, e.Path)
		}
	}
	return paths
}
