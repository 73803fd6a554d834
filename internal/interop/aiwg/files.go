// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package aiwg

import (
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// What happened to a file.
const (
	opCreated  = "created"
	opModified = "modified"
	opDeleted  = "deleted"
)

// fileTool is a tool that is known to read or write one file.
type fileTool struct {
	writes bool
	// verbatim says that the result is the file as it is, without line numbers or a frame, or that the argument content is.
	verbatim bool
	// operation of a writing tool, where its name tells; a tool that writes a whole file may have created or changed it.
	operation string
}

// fileTools are tools of wide-spread agents and MCP servers, by name.
var fileTools = map[string]fileTool{
	"read_file":       {verbatim: true},
	"read_text_file":  {verbatim: true},
	"Read":            {},
	"view_file":       {},
	"open_file":       {},
	"fs_read":         {},
	"write_file":      {writes: true, verbatim: true},
	"Write":           {writes: true, verbatim: true},
	"fs_write":        {writes: true},
	"create_file":     {writes: true, verbatim: true, operation: opCreated},
	"edit_file":       {writes: true, operation: opModified},
	"Edit":            {writes: true, operation: opModified},
	"MultiEdit":       {writes: true, operation: opModified},
	"replace":         {writes: true, operation: opModified},
	"replace_in_file": {writes: true, operation: opModified},
	"str_replace":     {writes: true, operation: opModified},
	"search_replace":  {writes: true, operation: opModified},
	"delete_file":     {writes: true, operation: opDeleted},
}

var pathArgs = []string{"path", "file_path", "filePath", "filepath", "absolute_path", "target_file", "file", "filename"}

var contentArgs = []string{"content", "contents", "text", "file_text"}

// pathOf returns the file that a call names.
func pathOf(args exactjson.Value) string {
	if args.Kind() != exactjson.Object {
		return ""
	}
	return args.First(pathArgs...).Str()
}

// contextFiles are the files that went into the run: those that the harness names, media that came with the input, files that known tools read, and sources of
// retrievals. A file that was read twice stands once, in the form that was read first. Content has a hash only if it is whole and
// verbatim.
func contextFiles(t *tape.Tape) exactjson.Value {
	f := files{seen: map[string]bool{}}
	for _, member := range []string{"instructions", "fixtures"} {
		for _, m := range t.Extensions.Get(harness.Key).Get(member).Members() {
			if path := m.Value.Get("path").Str(); fs.ValidPath(path) {
				size := exactjson.Value{}
				if n, ok := m.Value.Get("size").Int(); ok {
					size = exactjson.IntValue(n)
				}
				f.add(path, interop.StringOrNone(m.Value.Get("sha256").Str()), size)
			}
		}
	}
	for _, id := range t.Input.Messages {
		for _, p := range t.Messages[id].Parts {
			if path, ok := filePath(p.URI); p.Type == tape.PartMedia && ok {
				size := exactjson.Value{}
				if p.Size > 0 {
					size = exactjson.IntValue(p.Size)
				}
				f.add(path, interop.StringOrNone(p.SHA256), size)
			}
		}
	}
	for i := range t.Events {
		e := &t.Events[i]
		switch e.Type {
		case tape.EventRetrieval:
			for _, d := range e.Documents.Members() {
				source := d.Value.First("path", "source", "uri", "file_path")
				if source.IsAbsent() {
					source = d.Value.Get("metadata").First("path", "source", "uri", "file_path")
				}
				if path, ok := filePath(source.Str()); ok {
					f.add(path, exactjson.Value{}, exactjson.Value{})
				}
			}
		case tape.EventToolCall:
			tool, known := fileTools[e.Name]
			path := pathOf(e.Args)
			if !known || tool.writes || path == "" || e.IsError || e.Status == tape.EventError || e.Waiting != "" {
				continue
			}
			hash, size := exactjson.Value{}, exactjson.Value{}
			// Other arguments may select a part of the file.
			if tool.verbatim && e.Args.Len() == 1 && e.Result.Kind() == exactjson.String && e.Provenance["result"] == "" {
				hash, size = exactjson.StringValue(sha256Hex(e.Result.Str())), exactjson.IntValue(int64(len(e.Result.Str())))
			}
			f.add(path, hash, size)
		}
	}
	return interop.ArrayOrNone(f.list)
}

type files struct {
	seen map[string]bool
	list []exactjson.Value
}

func (f *files) add(path string, hash, size exactjson.Value) {
	if f.seen[path] {
		return
	}
	f.seen[path] = true
	f.list = append(f.list, exactjson.ObjectValue(
		interop.Member("path", exactjson.StringValue(path)), interop.Member("hash", hash), interop.Member("size_bytes", size)))
}

// artifacts are the files that changed, as the harness saw it; where none looked, those that known tools wrote, in the order of the calls.
func artifacts(t *tape.Tape) exactjson.Value {
	var list []exactjson.Value
	for _, m := range t.Extensions.Get(harness.Key).Get("workspace").Members() {
		path, operation := m.Value.Get("path").Str(), m.Value.Get("operation").Str()
		if fs.ValidPath(path) && slices.Contains([]string{opCreated, opModified, opDeleted}, operation) {
			list = append(list, exactjson.ObjectValue(
				interop.Member("path", exactjson.StringValue(path)), interop.Member("hash", interop.StringOrNone(m.Value.Get("sha256").Str())),
				interop.Member("operation", exactjson.StringValue(operation)),
				interop.Member("x_hash_before", interop.StringOrNone(m.Value.Get("sha256_before").Str()))))
		}
	}
	if list != nil {
		return interop.ArrayOrNone(list)
	}
	for i := range t.Events {
		e := &t.Events[i]
		tool, known := fileTools[e.Name]
		path := pathOf(e.Args)
		if e.Type != tape.EventToolCall || !known || !tool.writes || path == "" || e.IsError || e.Status == tape.EventError || e.Result.IsAbsent() {
			continue
		}
		hash := exactjson.Value{}
		if content := e.Args.First(contentArgs...); tool.verbatim && content.Kind() == exactjson.String && e.Provenance["args"] == "" {
			hash = exactjson.StringValue(sha256Hex(content.Str()))
		}
		list = append(list, exactjson.ObjectValue(
			interop.Member("path", exactjson.StringValue(path)), interop.Member("hash", hash),
			interop.Member("operation", interop.StringOrNone(tool.operation))))
	}
	return interop.ArrayOrNone(list)
}

// filePath returns the path of a file URI or of a bare path.
func filePath(uri string) (string, bool) {
	u, err := url.Parse(uri)
	switch {
	case err != nil || uri == "" || strings.ContainsAny(uri, "\n\r"):
		return "", false
	case u.Scheme == "file":
		return u.Path, u.Path != ""
	default:
		return uri, u.Scheme == "" && u.Host == ""
	}
}
