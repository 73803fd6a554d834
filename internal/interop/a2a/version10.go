// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// A2A 1.0 is defined in protobuf and written as its JSON: roles have other names, and a part has no kind but
// the member that holds its content.

// roles10 are the roles by their name in 1.0.
var roles10 = map[string]a2a.MessageRole{"ROLE_USER": a2a.MessageRoleUser, "ROLE_AGENT": a2a.MessageRoleAgent}

// sending10 are the params of SendMessage and SendStreamingMessage.
type sending10 struct {
	Message message10 `json:"message"`
}

type message10 struct {
	MessageID string          `json:"messageId"`
	TaskID    a2a.TaskID      `json:"taskId,omitempty"`
	Role      string          `json:"role"`
	Parts     exactjson.Value `json:"parts"`
}

var errPart = fmt.Errorf("%w: a part of its message holds what the types of A2A do not", ErrInvalid)

func (s sent) to10(id string) (p sending10, err error) {
	p.Message = message10{MessageID: id, TaskID: s.task}
	for name, role := range roles10 {
		if role == s.role {
			p.Message.Role = name
		}
	}
	if p.Message.Role == "" {
		return p, fmt.Errorf("%w: its message has a role that A2A 1.0 does not have", ErrInvalid)
	}
	of := to10
	if s.of10 {
		of = check10
	}
	p.Message.Parts, err = convert(s.parts, of)
	return p, err
}

// convert makes other parts of parts. ok is false for a part that has no other form.
func convert(parts exactjson.Value, of func(part exactjson.Value) (other exactjson.Value, ok bool)) (exactjson.Value, error) {
	all := make([]exactjson.Value, 0, parts.Len())
	for _, m := range parts.Members() {
		other, ok := of(m.Value)
		if !ok {
			return exactjson.Value{}, errPart
		}
		all = append(all, other)
	}
	return exactjson.ArrayValue(all...), nil
}

// contents10 are the members of a part of 1.0 that hold its content, and what kind of value they are; of
// data, any.
var contents10 = map[string]exactjson.Kind{"text": exactjson.String, "raw": exactjson.String, "url": exactjson.String, "data": exactjson.Absent}

// check10 reports whether a part is one of 1.0.
func check10(part exactjson.Value) (exactjson.Value, bool) {
	contents := 0
	for _, m := range part.Members() {
		kind, content := contents10[m.Name]
		ok := true
		switch {
		case content:
			contents++
			ok = kind == exactjson.Absent || kind == m.Value.Kind()
			if m.Name == "raw" {
				ok = ok && isBase64(m.Value.Str())
			}
		case m.Name == "metadata":
			ok = m.Value.Kind() == exactjson.Object
		case m.Name == "filename", m.Name == "mediaType":
			ok = m.Value.Kind() == exactjson.String
		default:
			ok = false
		}
		if !ok {
			return part, false
		}
	}
	return part, part.Kind() == exactjson.Object && contents == 1
}

// isBase64 takes both alphabets, with and without padding, as the JSON of protobuf does.
func isBase64(text string) bool {
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(text), "=")
	_, err := base64.RawStdEncoding.DecodeString(text)
	return err == nil
}

// to10 makes a part of 1.0 of one of the versions before.
func to10(part exactjson.Value) (exactjson.Value, bool) {
	var members []exactjson.Member
	add := func(name string, v exactjson.Value) {
		if !v.IsAbsent() {
			members = append(members, exactjson.Member{Name: name, Value: v})
		}
	}
	known := []string{"kind", "metadata"}
	switch kind := part.Get("kind").Str(); kind {
	case "text", "data":
		known = append(known, kind)
		add(kind, part.Get(kind))
	case "file":
		known = append(known, kind)
		file := part.Get(kind)
		for _, of := range [][2]string{{"bytes", "raw"}, {"uri", "url"}, {"name", "filename"}, {"mimeType", "mediaType"}} {
			add(of[1], file.Get(of[0]))
		}
		if len(members) != file.Len() { // nothing is dropped
			return part, false
		}
	default:
		return part, false
	}
	add("metadata", part.Get("metadata"))
	if slices.ContainsFunc(part.Members(), func(m exactjson.Member) bool { return !slices.Contains(known, m.Name) }) {
		return part, false
	}
	return check10(exactjson.ObjectValue(members...))
}

// to03 makes a part of 0.3 of one of 1.0. Text and data have no file name and no media type there.
func to03(part exactjson.Value) (exactjson.Value, bool) {
	if _, ok := check10(part); !ok {
		return part, false
	}
	kind, file := "file", []exactjson.Member{}
	var content, metadata []exactjson.Member
	for _, m := range part.Members() {
		switch m.Name {
		case "text", "data":
			kind, content = m.Name, []exactjson.Member{m}
		case "metadata":
			metadata = []exactjson.Member{m}
		default:
			name := map[string]string{"raw": "bytes", "url": "uri", "filename": "name", "mediaType": "mimeType"}[m.Name]
			file = append(file, exactjson.Member{Name: name, Value: m.Value})
		}
	}
	switch {
	case kind == "file":
		content = []exactjson.Member{{Name: kind, Value: exactjson.ObjectValue(file...)}}
	case len(file) > 0:
		return part, false
	}
	members := append([]exactjson.Member{{Name: "kind", Value: exactjson.StringValue(kind)}}, content...)
	return exactjson.ObjectValue(append(members, metadata...)...), true
}
