// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// What a script types when it is asked for a password: expect "password:" { send "…\r" },
// child.sendline("…"). The nearest thing that the script waits for has to ask for a secret; variables
// ($password, $env(PW)) and answers to other questions are left alone.

var expectSend = seeker{rule: "expect-answer", class: Known, by: "expect-send", text: "what a script of Expect types when it is asked for a password",
	words: []string{"send~\"", "send~{", "send~--~\"", "send~--~{", "sendline(", "send(\"", "send('", "exp_send~\"", "exp_send~--~\"", "send_slow~\"", "send~'"}, find: (*finder).expectAnswer}

// asksSecret are parts of what asks for a secret, in lower case.
var asksSecret = []string{"assword", "assphrase", "passcode", "passwort", "kennwort", "mot de passe", "contrase", "senha", "wachtwoord", "pin:", "pin ", "token", "code:", "otp", "secret", "passwd",
	"пароль", "パスワード", "密码", "密碼", "비밀번호", "hasło", "heslo", "parola", "lösenord", "adgangskode", "salasana", "şifre", "jelsz"}

// readsFirst are parts of what a program does that answers a question: it reads the question.
var readsFirst = []string{"expect", "recv", "read", "wait", "spawn", "prompt", " in ", "endswith", "includes", "contains"}

func (f *finder) expectAnswer(id ruleID, at, end int) {
	s := f.s
	from := max(0, at-160)
	before := s[from:at]
	f.work += len(before)
	if i := strings.LastIndex(before, "send"); i >= 0 { // what was typed before answered what was asked before
		before = before[i:]
	}
	lower := strings.ToLower(before)
	asked := -1
	for _, w := range asksSecret {
		asked = max(asked, strings.LastIndex(lower, w))
	}
	if asked < 0 || strings.Count(lower[asked:], "\n") > 2 || len(lower)-asked > 72 || !strings.ContainsAny(lower[asked:], "\"'}/):") {
		return
	}
	for _, w := range [...]string{"yes/no", "login:", "username", "$ \"", "> \"", "# \""} {
		if strings.LastIndex(lower[asked:], w) > 0 {
			return
		}
	}
	if i := strings.IndexByte(s[at:end], '('); i == len("send") && !containsAny(strings.ToLower(s[from:at]), readsFirst) { // response.status(401).send("no token")
		return
	}
	i := end - 1
	if s[i] == '(' {
		i++
	}
	if s[i] == '{' {
		to := strings.IndexByte(s[i:min(len(s), i+256)], '}')
		if to > 1 {
			f.answer(id, i+1, i+to)
		}
		return
	}
	if from, to, _, ok := quotedAt(s, i); ok {
		f.answer(id, from, to)
	}
}

// answer notes what is typed, without the end of its line.
func (f *finder) answer(id ruleID, from, to int) {
	v := f.s[from:to]
	for cut := true; cut; {
		cut = false
		for _, end := range [...]string{"\\r", "\\n", "\r", "\n"} {
			if strings.HasSuffix(v, end) {
				v, cut = v[:len(v)-len(end)], true
			}
		}
		for strings.HasSuffix(v, "\\") {
			v, cut = v[:len(v)-1], true
		}
	}
	if typedInto(v) && v[0] != '[' {
		f.add(from, from+len(v), id)
	}
}
