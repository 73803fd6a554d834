// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

import "strings"

// BeforeStack is the message of an exception, which may be of several lines, and the class of it, where the record goes on with a stack trace: behind the
// class and the message, "ToolError: timeout\n    at …", or behind the message, the class and the message once more, "timeout\n\nToolError: timeout\n    at …".
// They are empty where it does not.
func BeforeStack(recorded string) (message, class string) {
	const paragraphs = 16
	at := 0
	for range paragraphs {
		i := strings.Index(recorded[at:], "\n\n")
		if i < 0 {
			break
		}
		message = recorded[:at+i]
		at += i + 2
		class, again, ok := strings.Cut(recorded[at:], ": ")
		if ok && message != "" && class != "" && !strings.ContainsAny(class, " \t\n") && strings.HasPrefix(again, message+"\n") && strings.HasPrefix(strings.TrimLeft(again[len(message):], "\n\t "), "at ") {
			return message, class
		}
	}
	const longest = 200
	class, _, ok := strings.Cut(recorded[:min(len(recorded), longest)], ": ")
	if !ok || strings.ContainsAny(class, " \t\n") || !strings.HasSuffix(class, "Error") && !strings.HasSuffix(class, "Exception") {
		return "", ""
	}
	rest := recorded[len(class)+len(": "):]
	for at := 0; ; {
		i := strings.IndexByte(rest[at:], '\n')
		if i < 0 {
			return "", ""
		}
		before, line := at+i, rest[at+i+1:]
		if inner := strings.TrimLeft(line, " \t"); before > 0 && len(inner) < len(line) && strings.HasPrefix(inner, "at ") {
			return rest[:before], class
		}
		at = before + 1
	}
}
