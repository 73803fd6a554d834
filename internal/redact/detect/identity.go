// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// idForm is an identity number that is looked for beside its label only: most have the form of any other number. The check digits are those that the
// issuing offices publish; python-stdnum's documentation collects them.
type idForm struct {
	labels string // lower case, separated by |
	check  func(d string) bool
}

// idForms are given what stands beside a label, in upper case and without separators.
var idForms = []idForm{
	{"tfn|tax file number", func(d string) bool { return digitsOf(d, 9) && sumOf(d, 1, 4, 3, 7, 5, 8, 6, 9, 10)%11 == 0 }},
	{"medicare", func(d string) bool {
		return (digitsOf(d, 10) || digitsOf(d, 11)) && d[0] >= '2' && d[0] <= '6' && sumOf(d, 1, 3, 7, 9, 1, 3, 7, 9)%10 == at(d, 8)
	}},
	{"ird number|ird no", func(d string) bool { return (digitsOf(d, 8) || digitsOf(d, 9)) && ird(d) }},
	{"nric|fin number", nric},
	{"mykad|nric|identity card|ic number|kad pengenalan", func(d string) bool { return digitsOf(d, 12) && dateAt(d, 2) }},
	{"ahv|avs number|ahv-nummer|ahvnummer|social insurance", func(d string) bool { return digitsOf(d, 13) && d[:3] == "756" && ean(d) }},
	{"svnr|sozialversicherungsnummer|sv-nummer|versicherungsnummer", func(d string) bool { return digitsOf(d, 10) && sumOf(d, 3, 7, 9, 0, 5, 8, 4, 2, 1, 6)%11 == at(d, 3) }},
	{"steuer-id|steuer id|steueridentifikationsnummer|steuernummer|steuerid|idnr", func(d string) bool { return digitsOf(d, 11) && steuerID(d) }},
	{"cpr|cpr-nummer|personnummer|cpr number", func(d string) bool { return digitsOf(d, 10) && dayMonth(d) }},
	{"personnummer|personal identity number|samordningsnummer", func(d string) bool {
		return (digitsOf(d, 10) || digitsOf(d, 12)) && luhn(d[len(d)-10:]) && dateOrPlus(d[len(d)-10:])
	}},
	{"fodselsnummer|f\u00f8dselsnummer|personnummer|d-nummer", func(d string) bool {
		return digitsOf(d, 11) && eleven(sumOf(d, 3, 7, 6, 1, 8, 9, 4, 5, 2)) == at(d, 9) && eleven(sumOf(d, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) == at(d, 10)
	}},
	{"hetu|henkil\u00f6tunnus|henkilotunnus", hetu},
	{"kennitala", func(d string) bool { return digitsOf(d, 10) && eleven(sumOf(d, 3, 2, 7, 6, 5, 4, 3, 2)) == at(d, 8) }},
	{"bsn|sofi|burgerservicenummer|sofinummer", func(d string) bool { return digitsOf(d, 9) && elevenTest(d) }},
	{"rijksregisternummer|rijksregister|national number|numero national|num\u00e9ro national|insz|niss", func(d string) bool {
		return digitsOf(d, 11) && (97-atoi(d[:9])%97 == atoi(d[9:]) || 97-(2000000000+atoi(d[:9]))%97 == atoi(d[9:]))
	}},
	{"nir|insee|securite sociale|s\u00e9curit\u00e9 sociale|social security", func(d string) bool { return digitsOf(d, 15) && mod97(d[:13]) == 97-atoi(d[13:]) }},
	{"dni|nif|documento nacional", func(d string) bool {
		return len(d) == 9 && digitsOf(d[:8], 8) && d[8] == "TRWAGMYFPDXBNJZSQVHLCKE"[atoi(d[:8])%23]
	}},
	{"nie|nif|extranjero", func(d string) bool {
		return len(d) == 9 && d[0] >= 'X' && d[0] <= 'Z' && digitsOf(d[1:8], 7) && d[8] == "TRWAGMYFPDXBNJZSQVHLCKE"[(int(d[0]-'X')*10000000+atoi(d[1:8]))%23]
	}},
	{"nif|contribuinte", func(d string) bool { return digitsOf(d, 9) && eleven(sumOf(d, 9, 8, 7, 6, 5, 4, 3, 2))%10 == at(d, 8) }},
	{"codice fiscale|codicefiscale|tax code", func(d string) bool { return len(d) == 16 && codiceFiscale(d, 0) == 16 }},
	{"pps|ppsn", pps},
	{"national insurance|nino|ni number", func(d string) bool { return len(d) == 9 && isUpper(d[0]) && isUpper(d[1]) && nino(d, 0) == 9 }},
	{"nhs", func(d string) bool { return digitsOf(d, 10) && nhs(d) }},
	{"pesel", func(d string) bool { return digitsOf(d, 11) && pesel(d) }},
	{"rodne cislo|rodn\u00e9 \u010d\u00edslo|birth number", func(d string) bool { return digitsOf(d, 10) && atoi(d)%11 == 0 || digitsOf(d, 9) && dateOrPlus(d) }},
	{"adoazonosito|ad\u00f3azonos\u00edt\u00f3", func(d string) bool { return digitsOf(d, 10) && sumOf(d, 1, 2, 3, 4, 5, 6, 7, 8, 9)%11 == at(d, 9) }},
	{"cnp|cod numeric personal", func(d string) bool {
		return digitsOf(d, 13) && sumOf(d, 2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)%11%10 == at(d, 12) || digitsOf(d, 13) && sumOf(d, 2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9)%11 == 10 && d[12] == '1'
	}},
	{"egn|\u0435\u0433\u043d", func(d string) bool { return digitsOf(d, 10) && sumOf(d, 2, 4, 8, 5, 10, 9, 7, 3, 6)%11%10 == at(d, 9) }},
	{"oib|osobni identifikacijski broj", func(d string) bool { return digitsOf(d, 11) && steuerID("1"+d[1:]) || digitsOf(d, 11) && mod1110(d) }},
	{"emso|em\u0161o|jmbg|unique master citizen number", func(d string) bool {
		return digitsOf(d, 13) && eleven(sumOf(d, 7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2))%10 == at(d, 12)
	}},
	{"isikukood|asmens kodas|personal code", baltic},
	{"personas kods|personal code", func(d string) bool { return digitsOf(d, 11) && (d[:2] == "32" || dayMonth(d)) }},
	{"amka", func(d string) bool { return digitsOf(d, 11) && luhn(d) && dayMonth(d) }},
	{"rnokpp|\u0440\u043d\u043e\u043a\u043f\u043f|individual tax number|\u0456\u043f\u043d", func(d string) bool {
		return digitsOf(d, 10) && ((10*sumOf(d, 5, 7, 9, 4, 6, 10, 5, 7)+sumOf(d[1:], 5, 7, 9, 4, 6, 10, 5, 7)-at(d, 0))%11%10 == at(d, 9) || (11*100+sumOf("0"+d, 0, -1, 5, 7, 9, 4, 6, 10, 5, 7))%11%10 == at(d, 9))
	}},
	{"snils|\u0441\u043d\u0438\u043b\u0441", func(d string) bool {
		return digitsOf(d, 11) && sumOf(d, 9, 8, 7, 6, 5, 4, 3, 2, 1)%101%100 == atoi(d[9:])
	}},
	{"\u0438\u043d\u043d", func(d string) bool {
		return digitsOf(d, 10) && sumOf(d, 2, 4, 10, 3, 5, 9, 4, 6, 8)%11%10 == at(d, 9) || digitsOf(d, 12) && sumOf(d, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)%11%10 == at(d, 10)
	}},
	{"kimlik|tckn|tc no", func(d string) bool {
		return digitsOf(d, 11) && d[0] != '0' && (sumOf(d, 7, -1, 7, -1, 7, -1, 7, -1, 7)%10+10)%10 == at(d, 9) && sumOf(d, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)%10 == at(d, 10)
	}},
	{"curp", func(d string) bool { return len(d) == 18 && digitsOf(d[4:10], 6) && (d[10] == 'H' || d[10] == 'M') }},
	{"rfc", func(d string) bool { return len(d) == 13 && digitsOf(d[4:10], 6) && dateAt(d, 6) }},
	{"cpf", func(d string) bool { return digitsOf(d, 11) && cpf(d) }},
	{"cnpj", func(d string) bool { return digitsOf(d, 14) && cnpj(d) }},
	{"cuit|cuil", func(d string) bool {
		return digitsOf(d, 11) && eleven(sumOf(d, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2))%10 == at(d, 10)
	}},
	{"rut", rut},
	{"nit", func(d string) bool {
		return digitsOf(d, 10) && sumOf(d, 41, 37, 29, 23, 19, 17, 13, 7, 3)%11 == 11-at(d, 9)
	}},
	{"cedula|c\u00e9dula", func(d string) bool { return digitsOf(d, 10) && luhn(d) }},
	{"id number|identity number|rsa id|sa id", func(d string) bool { return digitsOf(d, 13) && luhn(d) && dateAt(d, 2) }},
	{"pan card|pan number|permanent account|pan", func(d string) bool { return len(d) == 10 && letters(d[:5]) && digitsOf(d[5:9], 4) && isUpper(d[9]) }},
	{"aadhaar|aadhar|uidai", func(d string) bool { return digitsOf(d, 12) && d[0] >= '2' && verhoeff(d) }},
	{"cnic", func(d string) bool { return digitsOf(d, 13) }},
	{"my number|individual number|mynumber|\u30de\u30a4\u30ca\u30f3\u30d0\u30fc|\u500b\u4eba\u756a\u53f7", func(d string) bool {
		return digitsOf(d, 12) && eleven(sumOf(d, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2))%10 == at(d, 11)
	}},
	{"rrn|resident registration|\uc8fc\ubbfc\ub4f1\ub85d\ubc88\ud638", func(d string) bool { return digitsOf(d, 13) && dateAt(d, 2) }},
	{"id card|identity card|shenfenzheng|\u8eab\u4efd\u8bc1|\u8eab\u4efd\u8b49|citizen id|resident id", func(d string) bool { return len(d) == 18 && digitsOf(d[:17], 17) && dateAt(d, 10) }},
	{"hkid|hong kong id|identity card", hkid},
	{"national id|id card|\u8eab\u5206\u8b49|identity card", func(d string) bool { return len(d) == 10 && isUpper(d[0]) && digitsOf(d[1:], 9) && taiwan(d) }},
	{"thai id|national id|citizen id|\u0e1a\u0e31\u0e15\u0e23\u0e1b\u0e23\u0e30\u0e0a\u0e32\u0e0a\u0e19", func(d string) bool {
		return digitsOf(d, 13) && eleven(sumOf(d, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2))%10 == at(d, 12)
	}},
	{"teudat zehut|israeli id|\u05ea\u05e2\u05d5\u05d3\u05ea \u05d6\u05d4\u05d5\u05ea|national id|id number", func(d string) bool { return (digitsOf(d, 9) || digitsOf(d, 8)) && luhn(d) }},
	{"ssn|social security|soc sec", func(d string) bool { return digitsOf(d, 9) && ssn(d) }},
	{"itin|taxpayer identification|tax id|taxpayer id", func(d string) bool { return digitsOf(d, 9) && ssn(d) }},
	{"employer identification", func(d string) bool { return digitsOf(d, 9) }},
	{"sin|social insurance", func(d string) bool { return digitsOf(d, 9) && luhn(d) }},
	{"routing number|aba|routing", func(d string) bool { return digitsOf(d, 9) && aba(d) }},
	{"nik|ktp", func(d string) bool { return digitsOf(d, 16) }},
	{"melli code|national code|\u06a9\u062f \u0645\u0644\u06cc", func(d string) bool {
		if !digitsOf(d, 10) {
			return false
		}
		c := sumOf(d, 10, 9, 8, 7, 6, 5, 4, 3, 2) % 11
		return (c < 2 && c == at(d, 9) || c >= 2 && 11-c == at(d, 9))
	}},
	{"iin|\u0438\u0438\u043d|\u0436\u0441\u043d", func(d string) bool {
		return digitsOf(d, 12) && dateAt(d, 2) && sumOf(d, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)%11 == at(d, 11)
	}},
	{"emirates id|id number", func(d string) bool { return digitsOf(d, 15) && d[:3] == "784" && luhn(d) }},
	{"national id|iqama|id number", func(d string) bool { return digitsOf(d, 10) && (d[0] == '1' || d[0] == '2') && luhn(d) }},
	{"national id|id number", func(d string) bool { return digitsOf(d, 14) && (d[0] == '2' || d[0] == '3') && dateAt(d, 3) }},
	{"nid|national id", func(d string) bool { return digitsOf(d, 13) || digitsOf(d, 17) }},
	{"cccd|c\u0103n c\u01b0\u1edbc", func(d string) bool { return digitsOf(d, 12) && d[0] == '0' }},
	{"dni|cui", func(d string) bool {
		return len(d) == 9 && isNumber(d[:8]) && (d[8] == "65432110987"[sumOf(d, 3, 2, 7, 6, 5, 4, 3, 2)%11] || d[8] == "KJIHGFEDCBA"[sumOf(d, 3, 2, 7, 6, 5, 4, 3, 2)%11])
	}},
	{"dni|documento nacional", func(d string) bool { return digitsOf(d, 8) }},
	{"rif", func(d string) bool {
		i := strings.IndexByte("VEJPG", d[0])
		return i >= 0 && digitsOf(d[1:], 9) && d[9] == "00987654321"[(4+4*i+sumOf(d[1:], 3, 2, 7, 6, 5, 4, 3, 2))%11]
	}},
	{"cedula|c\u00e9dula|cedula de identidad|c\u00e9dula de identidad", func(d string) bool {
		return digitsOf(d, 9) && d[0] != '0' || digitsOf(d, 11) && luhn(d) || digitsOf(d, 8) && (10-sumOf(d, 2, 9, 8, 7, 6, 3, 4)%10)%10 == at(d, 7)
	}},
	{"idnp", func(d string) bool {
		return digitsOf(d, 13) && sumOf(d, 7, 3, 1, 7, 3, 1, 7, 3, 1, 7, 3, 1)%10 == at(d, 12)
	}},
	{"nic|nic number|identity card", func(d string) bool {
		return len(d) == 10 && digitsOf(d[:9], 9) && (d[9] == 'V' || d[9] == 'X') || digitsOf(d, 12) && (d[:2] == "19" || d[:2] == "20")
	}},
	{"cin|cin number", func(d string) bool {
		return len(d) == 8 && formed(d, "AA999999") || len(d) == 7 && (formed(d, "A999999") || formed(d, "AA99999"))
	}},
	{"nin|bvn|national identification number", func(d string) bool { return digitsOf(d, 11) }},
	{"ghana card", func(d string) bool { return digitsOf(d, 10) || len(d) == 13 && digitsOf(d[3:], 10) }},
	{"tin|tax identification", func(d string) bool { return digitsOf(d, 9) || digitsOf(d, 12) }},
	{"rentenversicherungsnummer|versicherungsnummer", func(d string) bool { return len(d) == 12 && isNumber(d[:8]) && isUpper(d[8]) && isNumber(d[9:]) }},
	{"seguridad social|nuss", func(d string) bool { return digitsOf(d, 12) && atoi(d[:10])%97 == atoi(d[10:]) }},
	{"medicare|mbi", func(d string) bool { return len(d) == 11 && formed(d, "9A*9A*9AA99") }},
	{"utr|unique taxpayer", func(d string) bool {
		return digitsOf(d, 10) && d[0] == "21987654321"[sumOf(d[1:], 6, 7, 8, 9, 10, 5, 4, 3, 2)%11]
	}},
	{"driver license|drivers license|driver's license|driver licence|driving licence|driving license|licence number|license number", func(d string) bool {
		return digitsOf(d, len(d)) && len(d) <= 12 || len(d) == 9 && formed(d, "A99999999") || len(d) == 8 && formed(d, "A9999999") || len(d) == 15 && formed(d, "A99999999999999") || len(d) == 16 && formed(d, "*****999999**9AA") || len(d) == 13 && formed(d, "A999999999999")
	}},
	{"f\u00fchrerschein|f\u00fchrerscheinnummer|fuhrerschein|fuehrerschein|permis de conduire|patente|patente di guida|permiso de conducir|carteira de motorista|cnh|rijbewijs|prawo jazdy|k\u00f6rkort|\u0432\u043e\u0434\u0438\u0442\u0435\u043b\u044c\u0441\u043a\u043e\u0435|driver licence no|driver license no|driver's licence|driving licence no|driving license no|dl number|dl no|ajokortin numero|ajokortti|\u904b\u8ee2\u514d\u8a31\u8a3c\u756a\u53f7|\u514d\u8a31\u8a3c\u756a\u53f7|\u9a7e\u9a76\u8bc1\u53f7", func(d string) bool {
		return len(d) >= 8 && len(d) <= 16 && digitCount(d)*2 >= len(d) && notOneByte(d) && !years(d)
	}},
	{"health card|ohip|health insurance number|medical record number|mrn|patient number|krankenversichertennummer|krankenversicherungsnummer|\u4fdd\u967a\u8a3c\u756a\u53f7|\u88ab\u4fdd\u967a\u8005\u756a\u53f7|medicaid|medicaid id|medicaid number", func(d string) bool {
		return len(d) >= 7 && len(d) <= 13 && digitCount(d)+4 >= len(d) && notOneByte(d)
	}},
	{"chi number|chi no", func(d string) bool { return digitsOf(d, 10) && dayMonth(d) }},
	{"nip|nip number|numer nip", func(d string) bool { return digitsOf(d, 10) && sumOf(d, 6, 5, 7, 2, 3, 4, 5, 6, 7)%11 == at(d, 9) }},
	{"regon", func(d string) bool { return digitsOf(d, 9) && sumOf(d, 8, 9, 2, 3, 4, 5, 6, 7)%11%10 == at(d, 8) }},
	{"ruc|ruc number", func(d string) bool {
		return digitsOf(d, 11) && (d[:2] == "10" || d[:2] == "15" || d[:2] == "17" || d[:2] == "20") || digitsOf(d, 13) && d[10:] == "001"
	}},
	{"dpi|cui", func(d string) bool { return digitsOf(d, 13) }},
	{"dea number|dea no", func(d string) bool {
		return len(d) == 9 && letters(d[:2]) && isNumber(d[2:]) && sumOf(d[2:], 1, 2, 1, 2, 1, 2)%10 == at(d, 8)
	}},
	{"npi number|npi", func(d string) bool { return digitsOf(d, 10) && luhn("80840"+d) }},
	{"cin|carte d'identit\u00e9", func(d string) bool { return digitsOf(d, 8) && d[0] == '0' }},
	{"account number|account no|acct number|acct no|a/c no|a/c number|bank account|kontonummer|kontonr|n\u00famero de cuenta|numero de cuenta|num\u00e9ro de compte|numero di conto|n\u00famero da conta|rekeningnummer|numer konta|\u53e3\u5ea7\u756a\u53f7|\u8d26\u53f7|\u94f6\u884c\u8d26\u53f7|\u043d\u043e\u043c\u0435\u0440 \u0441\u0447\u0435\u0442\u0430|sort code|bsb", func(d string) bool {
		return isNumber(d) && len(d) <= 18 && notOneByte(d)
	}},
	{"clabe", func(d string) bool { return digitsOf(d, 18) && sumOf17(d)%10 == at(d, 17) }},
	{"personalausweis|personalausweisnummer|ausweisnummer|ausweisnr|ausweis", func(d string) bool { return (len(d) == 9 || len(d) == 10) && weights731(d) }},
	{"\u043f\u0430\u0441\u043f\u043e\u0440\u0442|\u043f\u0430\u0441\u043f\u043e\u0440\u0442\u0430|\u8b77\u7167|\u62a4\u7167|\u62a4\u7167\u53f7\u7801|\u65c5\u5238\u756a\u53f7|\uc5ec\uad8c\ubc88\ud638|numer paszportu|paspoortnummer|paspoort|passport|passeport|pasaporte|passaporte|passaporto|reisepass|paszport|passnummer", func(d string) bool {
		return len(d) >= 7 && len(d) <= 10 && (digitCount(d)+2 >= len(d) && notOneByte(d) || len(d) == 9 && digitCount(d) >= 3 && (formed(d, "99AA99999") || formed(d, "AAA999999") || weights731(d) || formed(d, "A********")))
	}},
	{"national id number|national id no|national id|identity card number|id card number|citizen id|personal number|personal identification number|\u0438\u0434\u0435\u043d\u0442\u0438\u0444\u0438\u043a\u0430\u0446\u0438\u043e\u043d\u043d\u044b\u0439 \u043d\u043e\u043c\u0435\u0440", func(d string) bool {
		return len(d) >= 7 && len(d) <= 18 && digitCount(d)*3 >= len(d)*2 && notOneByte(d) && !years(d)
	}},
	{"steuernummer", func(d string) bool { return len(d) >= 10 && len(d) <= 13 && digitsOf(d, len(d)) }},
	{"num\u00e9ro fiscal|numero fiscal|fiscal number|spi", func(d string) bool { return digitsOf(d, 13) && d[0] <= '3' }},
	{"cedula de ciudadania|c\u00e9dula de ciudadan\u00eda|cedula de identidad|c\u00e9dula de identidad|carnet de identidad", func(d string) bool { return digitsOf(d, len(d)) && len(d) <= 10 }},
	{"clave de elector", func(d string) bool { return len(d) == 18 && letters(d[:6]) && digitsOf(d[6:12], 6) }},
	{"alien registration number|alien number|uscis number|a-number", func(d string) bool { return len(d) == 10 && formed(d, "A999999999") || digitsOf(d, 9) }},
	{"\u94f6\u884c\u5361\u53f7|\u94f6\u884c\u5361|\u5361\u53f7|bank card number", func(d string) bool { return digitsOf(d, len(d)) && len(d) >= 15 && len(d) <= 19 }},
	{"sss number|sss no|sss", func(d string) bool { return digitsOf(d, 10) }},
	{"npwp", func(d string) bool { return digitsOf(d, 15) || digitsOf(d, 16) }},
	{"voter id|epic number|epic no", func(d string) bool { return len(d) == 10 && formed(d, "AAA9999999") }},
	{"member id|policy number|policy no|subscriber id|insurance id|insurance number|insurance no|beneficiary number", func(d string) bool {
		return len(d) >= 8 && len(d) <= 16 && digitCount(d) >= 6 && notOneByte(d)
	}},
	{identityLabels, documentNumber},
	{"bsb and account|bsb account|bsb", func(d string) bool { return isNumber(d) && len(d) >= 12 && len(d) <= 16 && notOneByte(d) }},
	{"fin kod|f\u0130n kod|fi\u0307n kod|fin kodu", func(d string) bool {
		return len(d) == 7 && hasDigit(d) && strings.IndexByte(d, 'O') < 0 && strings.IndexByte(d, 'I') < 0
	}},
	{"reisepassnummer|reisepass|reisepass nr|personalausweisnummer|ausweisnummer", func(d string) bool { // no vowels: they would make words
		return len(d) == 9 && digitCount(d) >= 2 && strings.IndexByte("CFGHJKLMNPRTVWXYZ", d[0]) >= 0 && !strings.ContainsAny(d, "AEIOUBDQS")
	}},
	{"utr|utr number|unique taxpayer reference", func(d string) bool { return digitsOf(d, 10) }},
	{"fin|fin no|work pass|work permit no", func(d string) bool { return len(d) == 9 && formed(d, "A9999999A") }},
	{"individual healthcare identifier|ihi|ihi number", func(d string) bool { return digitsOf(d, 16) && d[:4] == "8003" && luhn(d) }},
}

// idLabels are the labels with the forms that they announce.
var idLabels = func() map[string][]int {
	m := map[string][]int{}
	for i, f := range idForms {
		for label := range strings.SplitSeq(f.labels, "|") {
			m[label] = append(m[label], i)
		}
	}
	return m
}()

// formed says whether a number has a form: 9 is a digit, A a letter, * either.
func formed(d, form string) bool {
	for i := range len(form) {
		if form[i] == '9' && !isDigit(d[i]) || form[i] == 'A' && !isUpper(d[i]) {
			return false
		}
	}
	return true
}

// weights731 is the check digit of travel documents (ICAO 9303): letters count from 10.
func weights731(d string) bool {
	sum, digit := 0, false
	for i := range len(d) - 1 {
		v := int(d[i] - '0')
		if isUpper(d[i]) {
			v = int(d[i]-'A') + 10
		} else {
			digit = true
		}
		sum += v * []int{7, 3, 1}[i%3]
	}
	return digit && isDigit(d[len(d)-1]) && sum%10 == at(d, len(d)-1)
}

// digitsOf says whether d is n digits, not all of them equal.
func digitsOf(d string, n int) bool { return len(d) == n && isNumber(d) && (n < 3 || notOneByte(d)) }

// years holds for two years, one behind the other.
func years(d string) bool {
	return len(d) == 8 && (d[:2] == "19" || d[:2] == "20") && (d[4:6] == "19" || d[4:6] == "20")
}

func digitCount(d string) (n int) {
	for i := range len(d) {
		if isDigit(d[i]) {
			n++
		}
	}
	return n
}

// sumOf17 is the check digit of a CLABE: digits by 3, 7 and 1, each product by 10.
func sumOf17(d string) (sum int) {
	for i := range 17 {
		sum += at(d, i) * []int{3, 7, 1}[i%3] % 10
	}
	return (10 - sum%10) % 10
}

func letters(d string) bool {
	for i := range len(d) {
		if !isUpper(d[i]) {
			return false
		}
	}
	return true
}

func at(d string, i int) int { return int(d[i] - '0') }

func sumOf(d string, weights ...int) (sum int) {
	for i, w := range weights {
		sum += w * at(d, i)
	}
	return sum
}

// eleven is the check digit of a weighted sum by 11; 11 becomes 0.
func eleven(sum int) int { return (11 - sum%11) % 11 }

func dayMonth(d string) bool { return dateAt(d[2:4]+d[0:2], 0) }

// dateOrPlus takes months to which 20, 40, 50 or 60 were added, and days with 60: sex, century and temporary numbers.
func dateOrPlus(d string) bool {
	month, day := atoi(d[2:4])%20, atoi(d[4:6])%60
	if atoi(d[2:4]) > 50 {
		month = (atoi(d[2:4]) - 50) % 20
	}
	return month >= 1 && month <= 12 && day >= 1 && day <= 31
}

func ean(d string) bool {
	sum := 0
	for i := range 12 {
		sum += at(d, i) * (1 + i%2*2)
	}
	return (10-sum%10)%10 == at(d, 12)
}

func ird(d string) bool {
	if len(d) == 8 {
		d = "0" + d
	}
	c := eleven(sumOf(d, 3, 2, 7, 6, 5, 4, 3, 2))
	if c == 10 {
		c = eleven(sumOf(d, 7, 4, 3, 2, 5, 2, 7, 6))
	}
	return c == at(d, 8)
}

func nric(d string) bool {
	if len(d) != 9 || !digitsOf(d[1:8], 7) {
		return false
	}
	sum := sumOf(d[1:], 2, 7, 6, 5, 4, 3, 2)
	switch d[0] {
	case 'S':
		return d[8] == "JZIHGFEDCBA"[sum%11]
	case 'T':
		return d[8] == "JZIHGFEDCBA"[(sum+4)%11]
	case 'F':
		return d[8] == "XWUTRQPNMLK"[sum%11]
	case 'G':
		return d[8] == "XWUTRQPNMLK"[(sum+4)%11]
	case 'M':
		return d[8] == "XWUTRQPNJLK"[(sum+3)%11]
	}
	return false
}

func hetu(d string) bool {
	if len(d) == 11 && isUpper(d[6]) {
		d = d[:6] + d[7:]
	}
	return len(d) == 10 && digitsOf(d[:9], 9) && dayMonth(d) && d[9] == "0123456789ABCDEFHJKLMNPRSTUVWXY"[atoi(d[:9])%31]
}

func pps(d string) bool {
	if len(d) != 8 && len(d) != 9 || !isNumber(d[:7]) {
		return false
	}
	sum := sumOf(d, 8, 7, 6, 5, 4, 3, 2)
	if len(d) == 9 {
		if d[8] < 'A' || d[8] > 'I' && d[8] != 'W' {
			return false
		}
		if d[8] != 'W' {
			sum += 9 * int(d[8]-'A'+1)
		}
	}
	return d[7] == "WABCDEFGHIJKLMNOPQRSTUV"[sum%23]
}

func mod1110(d string) bool {
	p := 10
	for i := range 10 {
		if p = (p + at(d, i)) % 10; p == 0 {
			p = 10
		}
		p = p * 2 % 11
	}
	return (11-p)%10 == at(d, 10)
}

func baltic(d string) bool {
	if !digitsOf(d, 11) || !dateAt(d, 3) {
		return false
	}
	c := sumOf(d, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1) % 11
	if c == 10 {
		c = sumOf(d, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3) % 11 % 10
	}
	return c == at(d, 10)
}

func rut(d string) bool {
	if len(d) < 8 || len(d) > 9 || !isNumber(d[:len(d)-1]) {
		return false
	}
	sum := 0
	for i := range len(d) - 1 {
		sum += at(d, len(d)-2-i) * (2 + i%6)
	}
	return d[len(d)-1] == "0123456789K"[eleven(sum)]
}

func hkid(d string) bool {
	if len(d) == 8 {
		d = " " + d
	}
	if len(d) != 9 || !isUpper(d[1]) || d[0] != ' ' && !isUpper(d[0]) || !isNumber(d[2:8]) {
		return false
	}
	value := func(c byte) int {
		switch {
		case c == ' ':
			return 36
		case isUpper(c):
			return int(c-'A') + 10
		}
		return int(c - '0')
	}
	sum := 0
	for i := range 8 {
		sum += value(d[i]) * (9 - i)
	}
	return d[8] == "0123456789A"[eleven(sum)]
}

func taiwan(d string) bool {
	n := strings.IndexByte("ABCDEFGHJKLMNPQRSTUVXYWZIO", d[0]) + 10
	return (n/10+n%10*9+sumOf(d[1:], 8, 7, 6, 5, 4, 3, 2, 1, 1))%10 == 0
}

// idNames returns the forms that a name announces: its words hold a label.
func idNames(words []string) (forms []int) {
	for n := 1; n <= 4; n++ {
		for i := 0; i+n <= len(words); i++ {
			forms = append(forms, idLabels[strings.Join(words[i:i+n], " ")]...)
		}
	}
	if name := strings.Join(words, ""); len(forms) == 0 && !isASCII(name) { // in a script that puts no space between words
		for _, label := range joinedLabels {
			if strings.Contains(name, label) {
				forms = append(forms, idLabels[label]...)
				break
			}
		}
	}
	return forms
}

// joinedLabels are the labels in scripts that put no space between words, the longest first.
var joinedLabels = func() (labels []string) {
	for label := range idLabels {
		if r, _ := utf8.DecodeRuneInString(label); len(label) >= 9 && unicode.In(r, unicode.Thai, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Khmer, unicode.Lao, unicode.Myanmar) {
			labels = append(labels, label)
		}
	}
	slices.SortFunc(labels, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return labels
}()

// labelled looks for the number behind a label that ends at i, or for a value that begins there, whose name
// was the label.
func (f *finder) labelled(i int, forms []int) {
	i, loose := behindFillers(f.s, i)
	var store [24]byte
	var ends [24]int
	n := readIdentity(f.s, i, &store, &ends)
	f.identified(i, store[:n], ends[:n], forms, loose)
}

// behindFillers returns where the number begins behind punctuation and a few words: "number: ", "no. ", "
// is ". loose: one of the words says nothing about a number.
func behindFillers(s string, i int) (at int, loose bool) {
	limit := min(len(s), i+32)
	for i < limit && !isDigit(s[i]) {
		if !isAlpha(s[i]) || s[i] >= 0x80 {
			i++
			continue
		}
		end, digit := i, false
		for end < limit+24 && end < len(s) && isAlnum(s[end]) && s[end] < 0x80 {
			digit = digit || isDigit(s[end])
			end++
		}
		if digit || beginsIdentity(s, i, end) {
			break
		}
		loose = loose || end-i > 2 && !fillers[strings.ToLower(s[i:end])]
		i = end
	}
	return i, loose
}

// beginsIdentity says whether a word of letters is the begin of the number itself: four before a group of
// digits, or one or two of which the first is a capital.
func beginsIdentity(s string, i, end int) bool {
	if end-i == 4 && letters(s[i:end]) && end+1 < len(s) && s[end] == ' ' && isDigit(s[end+1]) {
		return true
	}
	return end-i <= 2 && isUpper(s[i]) && (end == len(s) || s[end] != '=' && s[end] != ':' && s[end] < 0x80)
}

// readIdentity reads the letters and digits of a number, in capitals and without what stands between its
// groups. It notes where each ends, and returns how many there are.
func readIdentity(s string, i int, store *[24]byte, ends *[24]int) (n int) {
	for at := i; at < len(s) && n < len(store) && at-i < 48; at++ {
		c := s[at]
		switch {
		case isDigit(c) || isUpper(c):
			store[n], ends[n] = c, at+1
		case isLower(c):
			store[n], ends[n] = c-0x20, at+1
		case strings.IndexByte(" -./()+", c) >= 0 && n > 0:
			continue
		case c == 0xc2 && at+1 < len(s) && s[at+1] == 0xa0 && n > 0: // a blank that does not break
			at++
			continue
		default:
			return n
		}
		n++
	}
	return n
}

// fillers stand between the label of any paper and its number.
var fillers = wordSet(`number num no nr nbr nummer numero numer nomor code card cards id ids is was are value new my your the his her our this of for and key string str equals document
	holder with has kod koda sayi numarasi numaras run cuil nin rut rfc string holder valid issued`)

// anyDocument is the form that any paper of a person has.
var anyDocument = slices.IndexFunc(idForms, func(f idForm) bool { return f.labels == identityLabels })

// unchecked are the forms that say nothing about a number but its length: other words between it and the label make it the number of something else.
var unchecked = func() (of []bool) {
	for _, f := range idForms {
		n := 0
		for _, d := range [...]string{"1234567", "7654321", "12345678", "87654321", "123456789", "987654321", "1234567890", "9876543210"} {
			if f.check(d) {
				n++
			}
		}
		of = append(of, n >= 4)
	}
	return of
}()

// ofWords says whether a word in small letters stands in a text: it is no number then.
func ofWords(s string) bool {
	for word := range strings.FieldsSeq(s) {
		if isLower(word[0]) && !hasDigit(word) {
			return true
		}
	}
	return false
}

// identified looks for the longest number of one of the forms that begins at i, in its letters and digits and where each of them ends.
func (f *finder) identified(i int, chars []byte, ends []int, forms []int, loose bool) {
	s := f.s
	for m := len(chars); m >= 6; m-- {
		end := ends[m-1]
		if end < len(s) && (isWord(s[end]) && s[end] != '_') {
			continue
		}
		for _, form := range forms {
			if m < 7 && form != anyDocument || unchecked[form] && loose || form == anyDocument && ofWords(s[i:end]) {
				continue
			}
			if idForms[form].check(string(chars[:m])) {
				if end < len(s) && s[end] == ')' {
					end++
				}
				f.add(i, end, f.on.rules.national)
				return
			}
		}
	}
}

// asLabelled looks for the number before a label: use … as the passport number, … is my tax id.
func (f *finder) asLabelled(at int, forms []int) {
	s := f.s
	i := at
	for _, article := range [...]string{"the ", "your ", "my ", "his ", "her ", "our ", "a "} {
		if strings.HasSuffix(s[max(0, i-8):i], " "+article) {
			i -= len(article)
			break
		}
	}
	switch {
	case strings.HasSuffix(s[:i], " as "), strings.HasSuffix(s[:i], " is "):
		i -= 4
	default:
		return
	}
	for i > 0 && strings.IndexByte("\"'`*)\\", s[i-1]) >= 0 {
		i--
	}
	from := i
	for from > 0 && i-from < 28 && (isAlnum(s[from-1]) && s[from-1] < 0x80 || strings.IndexByte("-./ ", s[from-1]) >= 0) {
		from--
	}
	for ; from < i; from++ { // the longest that begins a word and has the form
		if c := s[from]; !isAlnum(c) || from > 0 && isAlnum(s[from-1]) {
			continue
		}
		var store [24]byte
		n := 0
		for j := from; j < i && n < len(store); j++ {
			if c := s[j]; isAlnum(c) {
				if isLower(c) {
					c -= 0x20
				}
				store[n] = c
				n++
			}
		}
		if n < 7 || n == len(store) {
			continue
		}
		for _, form := range forms {
			if form == anyDocument && ofWords(s[from:i]) {
				continue
			}
			if idForms[form].check(string(store[:n])) {
				f.add(from, i, f.on.rules.national)
				return
			}
		}
	}
}
