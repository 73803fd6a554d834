// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// contentOf returns what an attribute holds in the place of a reference. This is the JSON list or object as it was stored, or the
// list whose elements were stored as JSON lines.
func contentOf(body []byte) (string, error) {
	content := strings.TrimSpace(string(body))
	v, err := exactjson.Parse(content)
	if err == nil && v.Kind() == exactjson.Array {
		return content, nil
	}
	if list, ok := fromLines(content); ok {
		return list, nil
	}
	if err == nil && v.Kind() == exactjson.Object {
		return content, nil
	}
	return "", fmt.Errorf("not a JSON list or object (%d bytes)", len(body))
}

// fromLines reads JSON lines as the upload hook writes them. Every line holds an object. Its member index is the number of the
// line and no part of the content.
func fromLines(text string) (string, bool) {
	var elements []exactjson.Value
	for line := range strings.Lines(text) {
		v, err := exactjson.Parse(line)
		if err != nil || v.Kind() != exactjson.Object {
			return "", false
		}
		if n, ok := v.Get("index").Int(); !ok || n != int64(len(elements)) {
			return "", false
		}
		members := slices.Clone(v.Members())
		members = slices.DeleteFunc(members, func(m exactjson.Member) bool { return m.Name == "index" })
		elements = append(elements, exactjson.ObjectValue(members...))
	}
	list := exactjson.ArrayValue(elements...).JSON()
	_, err := exactjson.Parse(list) // it must stay within what can be read
	return list, err == nil && len(elements) > 0
}
