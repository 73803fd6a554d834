// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strings"
	"unicode/utf8"
)

// Tables in text, as psql, mysql, sqlite, pandas and Markdown print the result of a query. A column is secret
// by its name. Where a line is drawn below the header, any word in the column is a value, but for names of
// types, answers (yes, no) and sentences; without such a line, a value has to look like a secret.

// ruleChars are what lines of tables are drawn with.
const ruleChars = "-+=|:\u2500\u2502\u250c\u2510\u2514\u2518\u251c\u2524\u252c\u2534\u253c\u2550\u2551\u256a\u255e\u2561\u2564\u2567\u2501\u2503\u250f\u2513\u2517\u251b\u2523\u252b\u2533\u253b\u254b\u2554\u2557\u255a\u255d\u2560\u2563 \t\r"

// ruled says whether a line is one that a table is drawn with.
func ruled(line string) bool {
	marks := 0
	for i, r := range line {
		if !strings.ContainsRune(ruleChars, r) || i > 512 {
			return false
		}
		if r != ' ' && r != '\t' && r != '\r' && r != '|' && r != '\u2502' {
			marks++
		}
	}
	return marks >= 3
}

// bars are what parts the cells of a line.
var bars = []string{"|", "\u2502", "\u2503", "\u2551"}

// drawnTable looks at a name that ends at end and may be that of a column, in a line with bars or with wide
// gaps. It says whether it is one.
func (f *finder) drawnTable(start, end int) bool {
	s := f.s
	if f.on.rules.table == none || start < f.tableless || start >= f.rows[0] && start < f.rows[1] {
		return false
	}
	line, eol := lineBefore(s, start, 1024), lineBehind(s, end, 1024)
	header := s[line:eol]
	f.work += len(header)
	if eol >= len(s) || s[eol] != '\n' {
		f.tableless = eol
		return false
	}
	bar := ""
	for _, b := range bars {
		if strings.Contains(header, b) {
			bar = b
			break
		}
	}
	if bar == "" {
		return f.spacedTable(line, eol, start, end)
	}
	if strings.ContainsAny(header, "={}") {
		return false
	}
	column := strings.Count(s[line:start], bar)
	cell := s[line:start]
	cell = cell[strings.LastIndex(cell, bar)+len(bar):]
	if strings.LastIndex(s[line:start], bar) < 0 {
		cell = s[line:start]
	}
	rest := s[end:eol]
	if i := strings.Index(rest, bar); i >= 0 {
		rest = rest[:i]
	}
	name := cell + s[start:end] + rest
	if column >= maxColumns || len(strings.Fields(name)) > 4 {
		return false
	}
	secret, key := f.columnName(name)
	if !secret && !key {
		return false
	}
	total := strings.Count(header, bar)
	drawn, found := false, false
	stop := min(len(s), eol+maxTableBytes)
	at := eol + 1
	for row := 0; row < maxTableRows && at < stop; row++ {
		to := lineBehind(s, at, stop-at)
		text := s[at:to]
		f.work += len(text)
		switch {
		case ruled(text):
			drawn = true
		case strings.Count(text, bar) != total:
			row = maxTableRows
		default:
			from := at
			for range column {
				i := strings.Index(s[from:to], bar)
				from += i + len(bar)
			}
			last := to
			if i := strings.Index(s[from:to], bar); i >= 0 {
				last = from + i
			}
			f.column(from, last, drawn, key)
			found = true
		}
		if row < maxTableRows {
			f.rows = [2]int{eol, to}
		}
		at = to + 1
	}
	return found
}

// columnName says whether the words of a header cell are the name of a secret, or of a key.
func (f *finder) columnName(name string) (secret, key bool) {
	name = strings.Trim(name, " \t\r*`_\"'")
	if len(name) > 64 || name == "" {
		return false, false
	}
	switch k := f.r.Named(name); {
	case k.secret:
		return true, false
	case k.credential:
		return false, true
	case k.protocol:
		return false, false
	}
	return asked(name) == asksPassword, false
}

// column looks at a cell of a secret column.
func (f *finder) column(from, to int, drawn, key bool) {
	s := f.s
	for from < to && strings.IndexByte(" \t\r\"'`*", s[from]) >= 0 {
		from++
	}
	for to > from && strings.IndexByte(" \t\r\"'`*", s[to-1]) >= 0 {
		to--
	}
	if v := s[from:to]; columnValue(v, drawn && !key) && (!key || keylike(v) || len(v) >= 32 && random(v) && !hexDigest(v)) && !f.namesOther(v) {
		f.add(from, to, f.on.rules.table)
	}
}

// namesOther says whether a value is the name of a secret and not one: db-password.
func (f *finder) namesOther(v string) bool {
	if len(v) > 64 || !isSetting(v) || hasDigit(v) {
		return false
	}
	k := f.r.Named(v)
	return k.secret || k.credential
}

// columnValue holds for what stands in a secret column. any: whatever is no word about it.
func columnValue(v string, any bool) bool {
	if utf8.RuneCountInString(v) < 3 || len(v) > 512 || placeholder(v) || v[0] == '$' || strings.HasPrefix(v, "(") || !utf8.ValidString(v) {
		return false
	}
	lower := strings.ToLower(v)
	if !any {
		return (strong(v) || random(v) || passwordLike(v) && len(v) >= 8 && !dated(v) && !wordLike(v)) && !hexDigest(v)
	}
	if types[lower] || aboutPasswords[lower] || strings.Contains(v, "->") || strings.HasSuffix(v, ":") {
		return false
	}
	if strings.IndexByte(v, ' ') >= 0 && !(strings.Count(v, " ") <= 4 && hasDigit(v)) { // a sentence
		return false
	}
	return !dated(v) || !strings.ContainsAny(v, "-/:") || strong(v)
}

// types are words that stand in columns that are about secrets, and are none.
var types = wordSet(`varchar char character text string str int integer bigint number numeric boolean bool bytea blob uuid json jsonb timestamp date datetime yes no true false null none required optional sensitive secret
	hashed encrypted plain sha256 sha512 md5 bcrypt argon2 scrypt pbkdf2 opaque strict weak strong medium valid invalid expired active inactive read write admin enabled disabled supported unsupported partial full
	name type key value token meaning description example default notes masked never always any all other env file vault header cookie query body path varchar2 nvarchar double float unique index primary foreign`)

// spacedTable looks at a header whose columns stand one below the other, parted by blanks.
func (f *finder) spacedTable(line, eol, start, end int) bool {
	s := f.s
	c, ok := f.spacedHeader(s[line:eol], start-line, end-line)
	if !ok {
		return false
	}
	drawn, found := false, false
	at, stop := eol+1, min(len(s), eol+maxTableBytes)
	for row := 0; row < maxTableRows && at < stop; row++ {
		begin, to := at, lineBehind(s, at, stop-at)
		at = to + 1
		text := s[begin:to]
		f.work += len(text)
		if ruled(text) {
			if found && drawn {
				break
			}
			drawn = true
			continue
		}
		from, last, state := c.cell(text)
		if state == tableEnds {
			break
		}
		if state == noCell {
			continue
		}
		f.rows = [2]int{eol, to}
		f.column(begin+from, begin+last, drawn || c.tabs, c.key)
		found = true
	}
	return found
}

// spacedColumn is a secret column of a table that blanks or tabs part.
type spacedColumn struct {
	place, columns int // its own among all columns
	lo, hi         int // the range of its name in the header
	tabs, key      bool
}

// spacedHeader reads the names of columns, and returns the one that holds header[start:end]. ok: it is the
// name of a secret or a key, and the header is that of a table.
func (f *finder) spacedHeader(header string, start, end int) (c spacedColumn, ok bool) {
	if strings.ContainsAny(header, "=:{}[]()'\",;<>*&") || header[0] == '\t' {
		return c, false
	}
	c.place = -1
	c.tabs = strings.Contains(header, "\t")
	for i := 0; ; c.columns++ {
		var from int
		if from, i = nextColumn(header, i); from == i {
			break
		}
		if isDigit(header[from]) { // a row
			return c, false
		}
		if from <= start && end <= i {
			secret, key := f.columnName(header[from:i])
			if !secret && !key {
				return c, false
			}
			c.place, c.lo, c.hi, c.key = c.columns, from, i, key
		}
	}
	return c, c.place >= 0 && c.columns >= 2 && c.columns <= maxColumns
}

// nextColumn returns the range of the next name of a column from i on: it ends before a tab or two spaces.
func nextColumn(header string, i int) (from, to int) {
	for i < len(header) && (header[i] == ' ' || header[i] == '\t' || header[i] == '\r') {
		i++
	}
	from = i
	for i < len(header) && header[i] != '\t' && header[i] != '\r' && !(header[i] == ' ' && (i+1 >= len(header) || header[i+1] == ' ')) {
		i++
	}
	return from, i
}

// rowState is what a line below a header is.
type rowState uint8

const (
	aCell rowState = iota
	noCell
	tableEnds
)

// cell returns the range of the cell in a row of the table.
func (c *spacedColumn) cell(text string) (from, last int, state rowState) {
	if strings.TrimSpace(text) == "" {
		return 0, 0, tableEnds
	}
	if !c.tabs {
		return c.cellBelow(text)
	}
	cells := strings.Split(text, "\t")
	if len(cells) != c.columns {
		return 0, 0, tableEnds
	}
	for _, before := range cells[:c.place] {
		from += len(before) + 1
	}
	return from, from + len(cells[c.place]), aCell
}

// cellBelow returns the range of the word that stands below the name of the column, or reaches below it.
func (c *spacedColumn) cellBelow(text string) (from, last int, state rowState) {
	if len(text) <= c.lo {
		return 0, 0, tableEnds
	}
	for from = c.lo; from < len(text) && from < c.hi && text[from] == ' '; from++ {
	}
	if from >= c.hi || from >= len(text) {
		return 0, 0, noCell
	}
	for from > 0 && text[from-1] != ' ' {
		from--
	}
	for last = from; last < len(text) && text[last] != ' '; last++ {
	}
	if from == 0 && c.place > 0 { // no table
		return 0, 0, tableEnds
	}
	return from, last, aCell
}

var rowOfRecord = seeker{rule: "table-record", class: Known, by: "table-column", text: "a secret in a row that is printed as a list of its columns", words: []string{"-[~record", ".~row~***", "<th>", "<th~"}, find: (*finder).record}

// record looks at rows that are printed a column a line: -[ RECORD 1 ]- of psql, *** 1. row *** of mysql. It
// looks at tables of HTML too.
func (f *finder) record(id ruleID, at, end int) {
	s := f.s
	if s[at] == '<' {
		f.markupTable(id, at)
		return
	}
	if at < f.recorded {
		return
	}
	stop := min(len(s), end+4096)
	sep := byte('|')
	if s[at] == '.' {
		sep = ':'
	}
	i := lineBehind(s, end, 256) + 1
	for range 64 {
		if i >= stop {
			break
		}
		to := lineBehind(s, i, stop-i)
		text := s[i:to]
		f.work += len(text)
		n := strings.IndexByte(text, sep)
		if n < 0 || n > 64 {
			break
		}
		if secret, key := f.columnName(text[:n]); secret || key {
			f.column(i+n+1, to, true, key)
		}
		i = to + 1
	}
	f.recorded = i
}

// markupTable looks at the rows behind the header of a table of HTML.
func (f *finder) markupTable(id ruleID, at int) {
	s := f.s
	if at < f.recorded {
		return
	}
	stop := min(len(s), at+8192)
	f.recorded = stop
	var secret []int
	column, i := 0, at
	text := s[:stop]
	for {
		n := strings.Index(text[i:], "<th")
		if row := strings.Index(text[i:], "</tr>"); n < 0 || row >= 0 && row < n {
			break
		}
		i += n
		from := strings.IndexByte(text[i:], '>')
		if from < 0 {
			return
		}
		from += i + 1
		to := strings.IndexByte(text[from:], '<')
		if to < 0 {
			return
		}
		if yes, _ := f.columnName(text[from : from+to]); yes {
			secret = append(secret, column)
		}
		column++
		i = from + to
	}
	f.work += stop - at
	if len(secret) == 0 {
		return
	}
	column = -1
	for {
		cell, row := strings.Index(text[i:], "<td"), strings.Index(text[i:], "<tr")
		if cell < 0 {
			return
		}
		if row >= 0 && row < cell {
			column, i = -1, i+row+3
			continue
		}
		column++
		i += cell
		from := strings.IndexByte(text[i:], '>')
		if from < 0 {
			return
		}
		from += i + 1
		to := strings.IndexByte(text[from:], '<')
		if to < 0 {
			return
		}
		for _, c := range secret {
			if c == column {
				f.column(from, from+to, true, false)
			}
		}
		i = from + to
	}
}

// What JSON says of columns: {"columns": ["user", "password"], "rows": [["ada", "…"]]}, or a list of lists
// whose first one names the others.

// columnsOf are names of members that hold the names of columns, in order.
func columnsOf(name string) bool {
	switch name {
	case "resultSetMetaData", "columns", "fields", "header", "headers", "columnNames", "column_names", "columnMetadata", "rowType", "cols", "keys", "names", "schema", "field_names", "fieldNames":
		return true
	}
	return false
}

// header are the columns that a list names: what the name of each says, nil for one that says nothing. used:
// one of them names a secret.
type header struct {
	names []*Name
	used  bool
}

// add notes the name of the next column.
func (h *header) add(k *Name, i int) {
	if i < 0 || i >= maxColumns {
		return
	}
	for len(h.names) <= i {
		h.names = append(h.names, nil)
	}
	h.names[i] = k
	h.used = h.used || k != nil
}

// at returns what the name of a column says.
func (h *header) at(i int) *Name {
	if h == nil || !h.used || i < 0 || i >= len(h.names) {
		return nil
	}
	return h.names[i]
}

// columnOf returns what the name of a column says about its values, nil if nothing.
func (p *Walk) columnOf(text string) *Name {
	if text == "" || len(text) > 64 {
		return nil
	}
	switch k := p.r.Named(text); {
	case k.secret:
		return aColumn
	case k.credential:
		return aKeyField
	}
	return nil
}

// aColumn is the name of a value in a secret column.
var aColumn = &Name{facts: facts{secret: true, code: true, listed: true}}
