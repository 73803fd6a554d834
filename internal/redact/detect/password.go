// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// passwordWords are words for a password in other languages than English, in lower case and, where that is not a matter of ASCII, capitalised.
// They are looked for in text; assign.go knows the English ones, which are parts of names too.
var passwordWords = strings.Split("passowrd|pasword|passwrd|pssword|passwrod|\ube44\ubc88|\ud328\uc2a4\uc6cc\ub4dc|\ube44\ubc00 \ubc88\ud638|kennwort|losungswort|mot de passe|mots de passe|contrase\u00f1a|contrasena|clave de acceso|senha|palavra-passe|parola d'ordine|la parola|wachtwoord|has\u0142o|haslo|heslo|"+
	"l\u00f6senord|losenord|adgangskode|passord|salasana|jelsz\u00f3|jelszo|\u015fifre|\u015eifre|sifre|parol\u0103|\u043f\u0430\u0440\u043e\u043b\u044c|\u041f\u0430\u0440\u043e\u043b\u044c|\u0433\u0430\u0441\u043b\u043e|\u0413\u0430\u0441\u043b\u043e|"+
	"\u043f\u0430\u0440\u043e\u043b\u0430|\u041f\u0430\u0440\u043e\u043b\u0430|\u043b\u043e\u0437\u0438\u043d\u043a\u0430|lozinka|geslo|slapta\u017eodis|parole:|salas\u00f5na|\u30d1\u30b9\u30ef\u30fc\u30c9|\u6697\u8a3c\u756a\u53f7|\u5bc6\u7801|\u5bc6\u78bc|\u53e3\u4ee4|"+
	"\ube44\ubc00\ubc88\ud638|\uc554\ud638|\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631|\u0643\u0644\u0645\u0629 \u0627\u0644\u0633\u0631|\u05e1\u05d9\u05e1\u05de\u05d4|\u05e1\u05d9\u05e1\u05de\u05d0|\u092a\u093e\u0938\u0935\u0930\u094d\u0921|"+
	"kata sandi|m\u1eadt kh\u1ea9u|\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2|\u039a\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2|\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19|clave|nenosiri|wagwoord|pasahitza|contrasenya|parola|parool|parole|lykilor\u00f0|kata laluan|\u0631\u0645\u0632 \u0639\u0628\u0648\u0631|\u06a9\u0644\u0645\u0647 \u0639\u0628\u0648\u0631|\u09aa\u09be\u09b8\u0993\u09af\u09bc\u09be\u09b0\u09cd\u09a1|\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2 \u03c0\u03c1\u03cc\u03c3\u03b2\u03b1\u03c3\u03b7\u03c2|"+
	"\u0563\u0561\u0572\u057f\u0576\u0561\u0562\u0561\u057c|\u0533\u0561\u0572\u057f\u0576\u0561\u0562\u0561\u057c|\u10de\u10d0\u10e0\u10dd\u10da\u10d8|\u049b\u04b1\u043f\u0438\u044f\u0441\u04e9\u0437|\u049a\u04b1\u043f\u0438\u044f\u0441\u04e9\u0437|\u0441\u044b\u0440\u0441\u04e9\u0437|\u015fifr\u0259|\u015eifr\u0259|\u015fifr|pasvorto|contrasinal|\u0baa\u0bbe\u0bb8\u0bcd\u0bb5\u0bc7\u0bb0\u0bcd\u0b9f\u0bcd|\u0b95\u0b9f\u0bb5\u0bc1\u0b9a\u0bcd\u0b9a\u0bca\u0bb2\u0bcd|\u0c2a\u0c3e\u0c38\u0c4d\u200c\u0c35\u0c30\u0c4d\u0c21\u0c4d|\u0c30\u0c39\u0c38\u0c4d\u0c2f \u0c2a\u0c26\u0c02|\u0d2a\u0d3e\u0d38\u0d4d\u200c\u0d35\u0d47\u0d21\u0d4d|\u0d2a\u0d3e\u0d38\u0d4d\u200c\u0d35\u0d47\u0d21\u0d4d|\u0caa\u0cbe\u0cb8\u0ccd\u200c\u0cb5\u0cb0\u0ccd\u0ca1\u0ccd|\u0a97\u0ac1\u0aaa\u0acd\u0aa4 \u0ab6\u0aac\u0acd\u0aa6|\u0aaa\u0abe\u0ab8\u0ab5\u0ab0\u0acd\u0aa1|\u0a2a\u0a3e\u0a38\u0a35\u0a30\u0a21|\u0db8\u0dd4\u0dbb\u0db4\u0daf\u0dba|\u091a\u0902\u0915\u0947\u0924\u0936\u092c\u094d\u0926|\u0938\u0902\u0915\u0947\u0924\u0936\u092c\u094d\u0926|\u0917\u094b\u092a\u094d\u092f\u0936\u092c\u094d\u0926|\u09aa\u09be\u09b8\u0993\u09af\u09bc\u09be\u09b0\u09cd\u09a1|\u099a\u09be\u09ac\u09bf\u09b6\u09ac\u09cd\u09a6|\u067e\u0627\u0633 \u0648\u0631\u0688|\u067e\u0627\u0633\u0648\u0631\u0688|\u067e\u067c\u0646\u0648\u0645|\u062a\u06d0\u067e\u06d5\u0631\u06d5\u0648\u0634\u06d5|\u12e8\u12ed\u1208\u134d \u1243\u120d|\u121a\u1235\u1325\u122b\u12ca \u1243\u120d|\u043d\u0443\u0443\u0446 \u04af\u0433|\u1796\u17b6\u1780\u17d2\u1799\u179f\u1798\u17d2\u1784\u17b6\u178f\u17cb|\u179b\u17c1\u1781\u179f\u1798\u17d2\u1784\u17b6\u178f\u17cb|\u1005\u1000\u102c\u1038\u101d\u103e\u1000\u103a|\u0ea5\u0eb0\u0eab\u0eb1\u0e94\u0e9c\u0ec8\u0eb2\u0e99|\u0f42\u0f66\u0f44\u0f0b\u0f68\u0f44|\u043f\u0430\u0440\u043e\u043b|\u041f\u0430\u0440\u043e\u043b|\u0433\u0443\u0437\u0430\u0440\u0432\u043e\u0436\u0430|sir-s\u00f6z|fjal\u00ebkalimi|passwuert|loynior\u00f0|wachtwurd|wagwurd|igama-mfihlo|iphasiwedi|phasewete|\u1ecdr\u1ecdigbaniw\u1ecdle|kalmar sirri|tenimiafina|salas\u00f5na|pasirinktas slapta\u017eodis|pasjvord|\u043f\u0430\u0441\u0441\u0432\u043e\u0440\u0434|\u041f\u0430\u0441\u0441\u0432\u043e\u0440\u0434|\u05d2\u05d9\u05e9\u05d4 \u05e1\u05d9\u05e1\u05de\u05ea|\u05e8\u05de\u05ea \u05e1\u05d9\u05e1\u05de\u05d4|kode akses|pasfhocal|cyfrinair|fjal\u00ebkalim|\u043b\u043e\u0437\u0456\u043d\u043a\u0430", "|")

// keyWords are words for a key or a token in other languages than English, spelled as passwordWords are. Much else is called a key: only what looks
// random behind one counts.
var keyWords = strings.Split("schl\u00fcssel|schluessel|cl\u00e9|llave|clave|chave|chiave|sleutel|klucz|kl\u00ed\u010d|k\u013e\u00fa\u010d|klju\u010d|kulcs|cheie|anahtar|nyckel|n\u00f8gle|n\u00f8kkel|avain|kunci|kh\u00f3a|kho\u00e1|"+
	"\u043a\u043b\u044e\u0447|\u041a\u043b\u044e\u0447|\u0442\u043e\u043a\u0435\u043d|\u0422\u043e\u043a\u0435\u043d|\u30ad\u30fc|\u9375|\u30c8\u30fc\u30af\u30f3|\u5bc6\u94a5|\u5bc6\u9470|\u91d1\u9470|\u4ee4\u724c|\u6b0a\u6756|\ud1a0\ud070|\u0645\u0641\u062a\u0627\u062d|\u0627\u0644\u0631\u0645\u0632 \u0627\u0644\u0645\u0645\u064a\u0632|\u05de\u05e4\u05ea\u05d7|\u0915\u0941\u0902\u091c\u0940|\u091f\u094b\u0915\u0928|\u03ba\u03bb\u03b5\u03b9\u03b4\u03af|"+
	"\u0e04\u0e35\u0e22\u0e4c|\ud0a4|jeton|tokenu|zugangscode|zugriffscode", "|")

// passwordLinks stand between such a word and the password.
var passwordLinks = strings.Split(":|(|=|\uff1a|\u2192|\u2013|\u662f|\u4e3a|\u70ba|\u306f|\ub294|\uc740|->|=>| ist | lautet | est | es | \u00e8 | e' | \u00e9 | jest | to | je | is | on | \u00e4r | er | adalah | l\u00e0 | \u2014 | - | es: | ist: | est: | este | este: | jest: | on: | \u00e8: | \u00e9: | is: | er: | je: | \u00e4r: |\u304c|\uc774|\u662f\uff1a", "|")

// behindWord returns where the value begins behind up to three words more and what links them to it: mot de passe temporaire : …, contraseña nueva: …,
// clé d'accès : …, API-Schlüssel lautet …
func behindWord(s string, at int) int {
	i := at
	for range 3 {
		from := i
		for i < len(s) && i-from < 32 && (isAlpha(s[i]) || s[i] >= 0x80 && !strings.HasPrefix(s[i:], "\uff1a") || s[i] == '\'') {
			i++
		}
		if i == from {
			return 0
		}
		if link, _ := passwordLink(s, i); link > 0 {
			return link
		}
		if i >= len(s) || s[i] != ' ' && s[i] != '-' {
			return 0
		}
		i++
	}
	return 0
}

// passwordLink returns where what links a word to a value ends, 0 if nothing does. verb: it is a verb, or a
// dash behind a blank.
func passwordLink(s string, i int) (link int, verb bool) {
	at := behindSpaces(s, i)
	for _, l := range passwordLinks {
		if strings.HasPrefix(s[at:], l) {
			return at + len(l), false
		}
		if l[0] == ' ' && strings.HasPrefix(s[i:], l) {
			return i + len(l), true
		}
	}
	return 0, false
}

// behindWords returns where the text goes on behind up to three words of letters, 0 if there are none.
func behindWords(s string, at int) int {
	i := at
	for range 3 {
		from := i
		for i < len(s) && i-from < 24 && (isLower(s[i]) || s[i] >= 0x80) {
			i++
		}
		if i == from || i >= len(s) || s[i] != ' ' {
			i = from
			break
		}
		i++
	}
	if i == at {
		return 0
	}
	return i
}

// particles stand behind a value without a space in languages that write so: …です, …입니다.
var particles = []string{"\u3067\u3059", "\u3060", "\u306b", "\u3092", "\u3068", "\uc785\ub2c8\ub2e4", "\uc608\uc694", "\uc774", "\u3002", "\uff0c", "\u3001"}

// plainWord holds for letters of one word.
func plainWord(v string) bool {
	for i := range len(v) {
		if !isLower(v[i]) && v[i] < 0x80 {
			return false
		}
	}
	return v != ""
}

// password looks at what stands behind a word for a password, or a key, that ends at i, and else at the line around it.
func (f *finder) password(start, i int, key bool) {
	if !key && (f.formMember(start, i) || f.drawnTable(start, i)) {
		return
	}
	before := len(f.out)
	f.behindPassword(start, i, key)
	if len(f.out) == before && !key {
		f.nearby(start, i, true)
	}
}

// behindPassword looks at the value that is linked to a word for a password, or a key, that ends at i.
func (f *finder) behindPassword(start, i int, key bool) {
	s := f.s
	i = behindWordForPassword(s, start, i)
	if i < 0 {
		return
	}
	link, verb := passwordLink(s, i)
	loose := false // a few words stand between, and nothing that links: only what ends the line counts
	if link == 0 {
		at := behindSpaces(s, i)
		if link = behindWord(s, at); link == 0 {
			link, loose = behindWords(s, at), true
		}
		if link == 0 {
			return
		}
	}
	from := linkedValue(s, link)
	quoted := from > link && strings.IndexByte("\"'`", s[from-1]) >= 0
	to := linkedEnd(s, from)
	if verb && !key && plainWord(s[from:to]) { // het wachtwoord is gewijzigd naar …
		if next := behindWords(s, from); next > from {
			from, to, loose = next, next+len(strings.TrimRight(firstWord(s[next:]), ".,;!?)\"'`\\")), true
		}
	}
	v := s[from:to]
	switch {
	case key:
		if !loose && isLinkedKey(v) {
			f.add(from, to, f.on.rules.entropy)
		}
	case loose && (!strong(v) || to < len(s) && s[to] != '\n' && s[to] != '.'):
	case isLinkedPassword(v, quoted && !verb):
		f.add(from, to, f.on.rules.assignment)
	}
}

// behindWordForPassword returns where the text goes on behind the endings of a word for a password
// (passordet, adgangskoden) and the marks that close it, -1 if the word is a part of another.
func behindWordForPassword(s string, start, i int) int {
	for n := 0; n < 3 && i < len(s) && isLower(s[i]) && start+4 < i; n++ {
		i++
	}
	if start > 0 && isWord(s[start-1]) && isWord(s[start]) || i < len(s) && isWord(s[i]) {
		return -1
	}
	for i < len(s) && strings.IndexByte("*_`\"'\\", s[i]) >= 0 {
		i++
	}
	return i
}

// behindSpaces returns where the text goes on behind at most four spaces.
func behindSpaces(s string, i int) int {
	at := i
	for at < len(s) && s[at] == ' ' && at-i < 4 {
		at++
	}
	return at
}

// linkedValue returns where the value begins behind a link: behind blanks, quotes, marks of Markdown and
// the end of the line.
func linkedValue(s string, link int) int {
	from := link
	for from < len(s) && from-link < 8 && strings.IndexByte(" *_`\"'\\\t", s[from]) >= 0 {
		from++
	}
	if strings.HasPrefix(s[from:], "\u300c") { // 「…」
		from += len("\u300c")
	}
	if from < len(s) && s[from] == '\n' {
		from++
	}
	return from
}

// linkedEnd returns where the value ends that begins at from: before a blank, a quote or punctuation, or
// before a particle in languages that put no space there.
func linkedEnd(s string, from int) int {
	to := from
	for to < len(s) && to-from < 128 && s[to] > ' ' && strings.IndexByte("\"'`<>|,;\\", s[to]) < 0 && !strings.HasPrefix(s[to:], "\u300d") {
		if s[to] >= 0x80 && to-from >= 8 && slices.ContainsFunc(particles, func(p string) bool { return strings.HasPrefix(s[to:], p) }) {
			break
		}
		to++
	}
	for to > from && strings.IndexByte(".:!?)*", s[to-1]) >= 0 {
		to--
	}
	return to
}

// isLinkedKey says whether a value behind a word for a key is one: much else is called a key, so it has to
// look random.
func isLinkedKey(v string) bool {
	return random(v) && !hexDigest(v) && !placeholder(v) && !code(v) && token.ProtectedAt(v) == 0
}

// isLinkedPassword says whether a value behind a word for a password is one. literal: it stands in quotes,
// and no verb links it.
func isLinkedPassword(v string, literal bool) bool {
	if len(v) < 5 || placeholder(v) || code(v) || token.ProtectedAt(v) > 0 {
		return false
	}
	return strong(v) || passwordLike(v) && !dated(v) || literal && len(v) >= 6 && !prose(v)
}
