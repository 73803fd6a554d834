// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// Bounds of what is read of a table behind the name of a column: a header is met once for each of its names.
const (
	maxColumns    = 32
	maxTableRows  = 64
	maxTableBytes = 8 << 10
)

// columns looks at a name that stands in the header of a table, or in the column list of an INSERT. The values of its column stand rows below.
// It says whether the name is a column's.
func (f *finder) columns(start, end int) bool {
	s := f.s
	if start >= f.rows[0] && start < f.rows[1] {
		return false // a value of a table, not a name
	}
	line := f.line.last(s, start, 1024, &beginsColumns)
	if line > 0 && s[line-1] == '(' {
		return f.inserted(line, start, end)
	}
	eol := strings.IndexByte(s[end:min(len(s), end+1024)], '\n')
	if eol < 0 {
		return false
	}
	stop := min(len(s), end+eol+maxTableBytes)
	header := s[line : end+eol]
	sep := byte(0)
	for _, c := range []byte("|\t;,") {
		if strings.IndexByte(header, c) >= 0 {
			sep = c
			break
		}
	}
	if sep != 0 && sep != '|' && strings.ContainsAny(header, "=:{}[]()'") { // behind the beginning of a line of a log
		line = max(line, strings.LastIndexByte(s[line:start], ' ')+line+1)
		header = s[line : end+eol]
	}
	if sep == 0 || sep != '|' && strings.ContainsAny(header, "=:{}[]()'") || strings.IndexByte(header, sep) < 0 {
		return false
	}
	column := strings.Count(s[line:start], string(sep))
	if column >= maxColumns {
		return false
	}
	total := strings.Count(header, string(sep))
	at := end + eol + 1
	for row := 0; row < maxTableRows && at < stop; row++ {
		next := strings.IndexByte(s[at:stop], '\n')
		if next < 0 {
			next = stop - at
		}
		cells := s[at : at+next]
		if strings.Count(cells, string(sep)) != total {
			break
		}
		f.rows = [2]int{end + eol, at + next}
		f.cell(at, cells, sep, column)
		at += next + 1
	}
	return at > end+eol+1
}

// beginsColumns holds for what a list of names stands behind.
var beginsColumns = classWith("\n(")

// cell adds the value of a column of one row if it looks like a password.
func (f *finder) cell(at int, cells string, sep byte, column int) {
	for range column {
		i := strings.IndexByte(cells, sep)
		if i < 0 {
			return
		}
		at, cells = at+i+1, cells[i+1:]
	}
	if i := strings.IndexByte(cells, sep); i >= 0 {
		cells = cells[:i]
	}
	v := strings.Trim(cells, " \t\r\"'`")
	if i := strings.Index(cells, v); v != "" && (strong(v) || random(v) || passwordLike(v) && len(v) >= 8 && !dated(v) && !wordLike(v)) && !placeholder(v) && !hexDigest(v) {
		f.add(at+i, at+i+len(v), f.on.rules.assignment)
	}
}

// inserted looks at the values of a column of INSERT INTO … (name, password) VALUES ('ada', '…').
func (f *finder) inserted(list, start, end int) bool {
	s := f.s
	if !containsWord(s[max(0, list-128):list], []string{"insert into", "replace into"}) {
		return false
	}
	stop := min(len(s), end+maxTableBytes)
	i := strings.IndexByte(s[end:stop], ')')
	if i < 0 {
		return false
	}
	at := end + i + 1
	values := at
	for values < stop && (s[values] <= ' ' || isAlpha(s[values])) && values-at < 32 {
		values++
	}
	if !strings.EqualFold(strings.TrimSpace(s[at:values]), "values") {
		return false
	}
	column := strings.Count(s[list:start], ",")
	if column >= maxColumns {
		return false
	}
	f.rows = [2]int{values, stop}
	for at = values; at < stop && s[at] == '('; {
		at = f.insertedRow(at+1, stop, column)
		for at < stop && (s[at] == ')' || s[at] == ',' || s[at] <= ' ') {
			at++
		}
	}
	return true
}

// insertedRow reports the value of a column in the row that begins at at, and returns where the row ends.
func (f *finder) insertedRow(at, stop, column int) int {
	s := f.s
	for c := 0; at < stop; c++ {
		var from, to int
		from, to, at = sqlValue(s, behindBlank(s, at, stop), stop)
		quoted := from > 0 && (s[from-1] == '\'' || s[from-1] == '"')
		if v := s[from:to]; c == column && quoted && len(v) >= 4 && !placeholder(v) && !prose(v) {
			f.add(from, to, f.on.rules.assignment)
		}
		if at = behindBlank(s, at, stop); at >= stop || s[at] != ',' {
			break
		}
		at++
	}
	return at
}

// sqlValue returns the range of the value at at, without its quotes, and where the text goes on behind it.
func sqlValue(s string, at, stop int) (from, to, next int) {
	if at < stop && (s[at] == '\'' || s[at] == '"') {
		for to = at + 1; to < stop && s[to] != s[at]; to++ {
		}
		return at + 1, min(to, stop), to + 1
	}
	for to = at; to < stop && s[to] != ',' && s[to] != ')'; to++ {
	}
	return at, to, to
}

// behindBlank returns where the text goes on behind white space, stop at most.
func behindBlank(s string, at, stop int) int {
	for at < stop && s[at] <= ' ' {
		at++
	}
	return at
}
