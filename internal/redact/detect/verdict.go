// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// verdict says what becomes of a value behind the name of a credential.
type verdict uint8

const (
	spared  verdict = iota // it is no credential
	guessed                // it is reported as a value that looks random
	certain                // it is reported as what is assigned to the name of a credential
)

// refusals are the values that no verdict applies to.
var refusals = [...]func(*assignment) bool{
	(*assignment).emptied,
	(*assignment).ofCode,
	(*assignment).refers,
	(*assignment).namesSetting,
}

// verdicts are tried in order; the first that applies decides. A value that none applies to is spared.
var verdicts = [...]struct {
	applies func(*assignment) bool
	means   verdict
	end     func(*assignment) int // of what is reported; nil: all of the value
}{
	{(*assignment).distantCredential, certain, nil},
	{(*assignment).distant, spared, nil},
	{(*assignment).bareRandom, guessed, nil},
	{(*assignment).bareStrong, certain, nil},
	{(*assignment).bareWord, spared, nil},
	{(*assignment).numericCode, certain, nil},
	{(*assignment).appPassword, certain, nil},
	{(*assignment).passphrase, certain, (*assignment).phraseEnd},
	{(*assignment).bracketed, certain, (*assignment).bracketedEnd},
	{(*assignment).quotedWords, certain, nil},
	{(*assignment).secretLiteral, certain, nil},
	{(*assignment).urlSecret, certain, nil},
	{(*assignment).chosenByUser, certain, nil},
	{(*assignment).aloneOnLine, guessed, nil},
	{(*assignment).cipherKey, guessed, nil},
	{(*assignment).looksLikeCredential, guessed, nil},
}

// judge reports the value where a verdict says so.
func (f *finder) judge(a *assignment) {
	for i := range verdicts {
		v := &verdicts[i]
		if !v.applies(a) {
			continue
		}
		to := a.to
		if v.end != nil {
			to = v.end(a)
		}
		switch v.means {
		case certain:
			f.add(a.from, to, f.on.rules.assignment)
		case guessed:
			f.add(a.from, to, f.on.rules.entropy)
		}
		return
	}
}

// refused says whether the value is none that could be a credential.
func (a *assignment) refused() bool {
	return slices.ContainsFunc(refusals[:], func(holds func(*assignment) bool) bool { return holds(a) })
}

// emptied holds for a placeholder or a token: the secret is not there, or no longer.
func (a *assignment) emptied() bool { return placeholder(a.value) || token.ProtectedAt(a.value) > 0 }

// ofCode holds for the mangled name of a symbol and for a call: source code names secrets without holding
// them.
func (a *assignment) ofCode() bool { return mangled(a.value) || codeText(a.value) }

// refers holds for the name of a variable or a type: it says where the secret is, not what it is.
func (a *assignment) refers() bool {
	return a.reference(a.says, a.name(), a.value, operatorBefore(a.text[a.end:a.from]))
}

// namesSetting holds for the name of a setting in an element, <secret>login_password</secret>: the element
// refers to the setting.
func (a *assignment) namesSetting() bool {
	return a.element && isSetting(a.value) && !hasDigit(a.value) && a.value == strings.ToLower(a.value) && strings.IndexByte(a.value, '_') > 0
}

// digestValue holds for a digest under a name that digests have too: it proves nothing about a key.
func (a *assignment) digestValue() bool { return a.says.digest && hexDigest(a.value) }

// distant holds for the next argument of a call, the next cell and the line below: what stands there need not
// belong to the name.
func (a *assignment) distant() bool { return a.call || a.under }

// distantCredential holds for a distant value that looks like a credential by itself, because its place alone
// proves nothing.
func (a *assignment) distantCredential() bool {
	return a.distant() && (a.says.secret || a.says.credential) && (strong(a.value) || random(a.value)) && !a.digestValue()
}

// bareRandom holds for a random value, or a quoted password, behind a space only: prose has no such words.
func (a *assignment) bareRandom() bool {
	return a.bare && (len(a.value) >= 16 && random(a.value) && !a.digestValue() || a.says.secret && a.quoted && passwordLike(a.value))
}

// bareStrong holds for a strong password behind a space only: nobody writes such a word for anything else.
func (a *assignment) bareStrong() bool { return a.bare && a.says.secret && strong(a.value) }

// bareWord holds for any other word behind a space only: the sentence goes on with it.
func (a *assignment) bareWord() bool { return a.bare }

// numericCode holds for a short number behind the name of a code, or behind a verb: as a code it needs no
// letters.
func (a *assignment) numericCode() bool {
	return (a.says.code || a.verb) && a.says.secret && typedCode(a.value)
}

// appPassword holds for four groups of four letters: Google gives out such passwords, and no sentence has
// that form.
func (a *assignment) appPassword() bool {
	return a.says.secret && letterGroups(a.value) == len(a.value)
}

// passphrase holds for plain words that fill the line behind the name of a passphrase: only words can be
// expected there.
func (a *assignment) passphrase() bool {
	return a.says.phrase && !a.query && phrase(a.text[a.from:]) > 0
}

func (a *assignment) phraseEnd() int { return a.from + phrase(a.text[a.from:]) }

// bracketed holds for a word whose brackets do not match: code matches its brackets, a generated password
// does not.
func (a *assignment) bracketed() bool {
	return a.says.secret && !a.quoted && !a.query && misnestedWord(a.text, a.from) > 0
}

func (a *assignment) bracketedEnd() int { return a.from + misnestedWord(a.text, a.from) }

// quotedWords holds for several words in quotes behind an equals sign, or in single quotes behind a name
// with an underscore: a statement about passwords is not assigned to one.
func (a *assignment) quotedWords() bool {
	return a.says.secret && a.quoted && (a.equals || a.text[a.from-1] == '\'' && strings.IndexByte(a.name(), '_') > 0) && words(a.value)
}

// secretLiteral holds for a literal under the name of a secret: such a name makes any literal a secret.
func (a *assignment) secretLiteral() bool { return a.says.secret && a.literal(a.value) }

// urlSecret holds for a key in the query of a URL: words such as sig name nothing else there.
func (a *assignment) urlSecret() bool {
	return a.query && a.says.url && len(a.value) >= 16 && randomish(a.value)
}

// chosenByUser holds for a word behind "my password is": its owner says what it is.
func (a *assignment) chosenByUser() bool {
	return a.says.secret && a.verb && a.start >= 3 && a.text[a.start-3:a.start] == "my " && chosenWord(a.text, a.to, a.value)
}

// aloneOnLine holds for one word of letters that is all of its line: a description has several.
func (a *assignment) aloneOnLine() bool { return a.says.secret && a.alone(a.text, a.to, a.value) }

// cipherKey holds for hexadecimal digits near a word for encryption: they are a key there, and a digest
// elsewhere.
func (a *assignment) cipherKey() bool {
	return a.says.digest && a.says.credential && hexDigest(a.value) && containsPart(a.text[max(0, a.start-40):a.start], cryptWords)
}

// looksLikeCredential holds for a value that looks random under a name that credentials share with other
// values. An unquoted one without brackets counts: source code has calls and indexes there.
func (a *assignment) looksLikeCredential() bool {
	return a.says.credential && a.says.looks(a.value) && !a.digestValue() && (a.quoted || !strings.ContainsAny(a.value, "(["))
}
