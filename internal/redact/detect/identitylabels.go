// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

// identityLabels name papers and numbers of persons in many languages: what stands beside one and has the shape of a number of a paper is one, whatever its
// country and its check digits.
const identityLabels = "passport|passeport|pasaporte|passaporto|passaporte|reisepass|reisepassnummer|paspoort|paszport|pa\u0161ai|cestovn\u00ed pas|putovnica|paso\u0161|" +
	"pasaport|\u00fatlev\u00e9l|passi number|pass number|\u03b4\u03b9\u03b1\u03b2\u03b1\u03c4\u03ae\u03c1\u03b9\u03bf|" +
	"\u043f\u0430\u0441\u043f\u043e\u0440\u0442|\u0633\u0641\u0631\u06cc|\u062c\u0648\u0627\u0632 \u0627\u0644\u0633\u0641\u0631|" +
	"\u05d3\u05e8\u05db\u05d5\u05df|\u62a4\u7167\u53f7|\u62a4\u7167\u53f7\u7801|\u65c5\u5238\u756a\u53f7|\uc5ec\uad8c\ubc88\ud638|h\u1ed9 chi\u1ebfu|" +
	"\u0e2b\u0e19\u0e31\u0e07\u0e2a\u0e37\u0e2d\u0e40\u0e14\u0e34\u0e19\u0e17\u0e32\u0e07|\u092a\u093e\u0938\u092a\u094b\u0930\u094d\u091f|paspor|" +
	"national identity number|national identification number|national insurance number|identity document|identification number of the person|citizen number|" +
	"citizenship number|civil id|civil number|resident number|residence permit|residence card|resident card number|residency number|visa number|work permit|" +
	"green card number|naturalization number|travel document number|refugee number|stateless|military id|military number|service number of the soldier|" +
	"birth certificate number|birth registration number|voter number|voter registration|voter id|voter card|elector number|electoral number|driver id|" +
	"driver licence|driver license|drivers licence|driver's licence|driving permit|driving licence number|drivers license number|driver's license number|" +
	"licence no|dl number|dlno|permis de conduire|num\u00e9ro de permis|f\u00fchrerschein|patente di guida|carnet de conducir|permiso de conducir|" +
	"licencia de conducir|licencia de conducci\u00f3n|carta de condu\u00e7\u00e3o|carteira de habilita\u00e7\u00e3o|prawo jazdy|" +
	"\u0159idi\u010dsk\u00fd pr\u016fkaz|vodi\u010dsk\u00fd preukaz|voza\u010dka dozvola|permis auto|ehliyet|rijbewijsnummer|k\u00f8rekort|f\u00f8rerkort|" +
	"k\u00f6rkort|juhiluba|vair\u0161taja|vairuotojo pa\u017eym\u0117jimas|jogos\u00edtv\u00e1ny|" +
	"\u03ac\u03b4\u03b5\u03b9\u03b1 \u03bf\u03b4\u03ae\u03b3\u03b7\u03c3\u03b7\u03c2|" +
	"\u0432\u043e\u0434\u0438\u0442\u0435\u043b\u044c\u0441\u043a\u043e\u0435 \u0443\u0434\u043e\u0441\u0442\u043e\u0432\u0435\u0440\u0435\u043d\u0438\u0435|" +
	"\u9a7e\u9a76\u8bc1|\u904b\u8ee2\u514d\u8a31|\uc6b4\uc804\uba74\ud5c8|surat izin mengemudi|sim number of the driver|lesen memandu|tax number|tax no|" +
	"tax file|tax payer number|taxpayer number|taxpayer id|taxpayer identification number|tax identification number|tax reference|pan no|steuernummer|" +
	"steuer-identifikationsnummer|num\u00e9ro fiscal|identifiant fiscal|n\u00famero fiscal|partita iva|codice fiscale|belasting|btw-nummer|skattenummer|" +
	"verokortti|henkil\u00f6numero|maksumaksja|mok\u0117tojo kodas|nodok\u013cu|ad\u00f3sz\u00e1m|ad\u00f3azonos\u00edt\u00f3 jel|da\u0148ov\u00e9|" +
	"dav\u010dna \u0161tevilka|porezni broj|\u03b1\u03c6\u03bc|\u03ac\u03c6\u03bc|vergi no|vergi kimlik|vergi numaras\u0131|\u7d0d\u7a0e\u8005|\u7a0e\u53f7|" +
	"\ub0a9\uc138\uc790|m\u00e3 s\u1ed1 thu\u1ebf|social security number|social security no|social insurance number|social number|pension number|" +
	"pension insurance number|sozialversicherungsnummer|num\u00e9ro de s\u00e9curit\u00e9 sociale|n\u00famero de seguridad social|" +
	"n\u00famero de la seguridad social|n\u00famero de afiliaci\u00f3n|numero di previdenza|n\u00famero de seguran\u00e7a social|ssn number|nssf|nssf number|" +
	"nhif|pagibig|pag-ibig|philhealth|gsis|umid|philsys|health insurance|health id|health number|health card number|healthcare number|health care number|" +
	"patient id|patient identifier|medical record|mrn number|medical id|medicare number|medicare id|medicaid id|medicaid number|beneficiary id|insured id|" +
	"insured number|insurance card|insurance policy number|policy holder number|member number|subscriber number|versichertennummer|krankenkasse|" +
	"num\u00e9ro d'assur\u00e9|carte vitale|tessera sanitaria|tarjeta sanitaria|utente|cart\u00e3o de cidad\u00e3o|ehic|ehic number|nhi number|nhs no|nhs nr|" +
	"hkid card|ohip number|phn|phn number|care card|documento de identidad|documento de identidade|documento d'identit\u00e0|documento nacional de identidad|" +
	"carta d'identit\u00e0|carta d'identita|carte d'identit\u00e9|carte nationale d'identit\u00e9|num\u00e9ro cni|cni|c\u00e9dula|cedula|carnet de identidad|" +
	"carnet de extranjer\u00eda|tarjeta de identidad|registro geral|rg number|personalausweis|personalausweisnummer|identit\u00e4tskarte|identiteitskaart|" +
	"identiteitskaartnummer|id-kort|id-kortti|henkil\u00f6kortti|nafnsk\u00edrteini|dow\u00f3d osobisty|nr dowodu|numer dowodu|" +
	"ob\u010dansk\u00fd pr\u016fkaz|\u010d\u00edslo op|ob\u010diansky preukaz|szem\u00e9lyi igazolv\u00e1ny|szem\u00e9lyi sz\u00e1m|carte de identitate|" +
	"cod numeric personal|osobna iskaznica|osobna izkaznica|li\u010dna karta|mati\u010dni broj|isikutunnistus|asmens tapatyb\u0117s|asmens kodas|" +
	"apliec\u012bba|\u03c4\u03b1\u03c5\u03c4\u03cc\u03c4\u03b7\u03c4\u03b1|" +
	"\u03b1\u03c1\u03b9\u03b8\u03bc\u03cc\u03c2 \u03c4\u03b1\u03c5\u03c4\u03cc\u03c4\u03b7\u03c4\u03b1\u03c2|" +
	"\u043b\u0438\u0447\u043d\u0430 \u043a\u0430\u0440\u0442\u0430|" +
	"\u0443\u0434\u043e\u0441\u0442\u043e\u0432\u0435\u0440\u0435\u043d\u0438\u0435 \u043b\u0438\u0447\u043d\u043e\u0441\u0442\u0438|" +
	"\u0438\u0434\u0435\u043d\u0442\u0438\u0444\u0438\u043a\u0430\u0446\u0438\u043e\u043d\u043d\u044b\u0439 \u043d\u043e\u043c\u0435\u0440|" +
	"\u043b\u0438\u0447\u043d\u044b\u0439 \u043d\u043e\u043c\u0435\u0440|" +
	"\u0441\u0442\u0440\u0430\u0445\u043e\u0432\u043e\u0439 \u043d\u043e\u043c\u0435\u0440|\u043f\u043e\u043b\u0438\u0441 \u043e\u043c\u0441|" +
	"\u0435\u0433\u043d|kimlik numaras\u0131|kimlik no|n\u00fcfus c\u00fczdan\u0131|\u0631\u0642\u0645 \u0627\u0644\u0647\u0648\u064a\u0629|" +
	"\u0627\u0644\u0631\u0642\u0645 \u0627\u0644\u0648\u0637\u0646\u064a|\u0627\u0644\u0631\u0642\u0645 \u0627\u0644\u0642\u0648\u0645\u064a|" +
	"\u0627\u0644\u0631\u0642\u0645 \u0627\u0644\u0645\u062f\u0646\u064a|\u0634\u0645\u0627\u0631\u0647 \u0645\u0644\u06cc|" +
	"\u05ea\u05e2\u05d5\u05d3\u05ea \u05d6\u05d4\u05d5\u05ea|\u05de\u05e1\u05e4\u05e8 \u05d6\u05d4\u05d5\u05ea|\u8eab\u4efd\u8bc1\u53f7|" +
	"\u8eab\u4efd\u8bc1\u53f7\u7801|\u8eab\u5206\u8b49\u5b57\u865f|\u793e\u4fdd\u53f7|\u57fa\u790e\u5e74\u91d1\u756a\u53f7|\u4fdd\u967a\u8a3c|" +
	"\u5728\u7559\u30ab\u30fc\u30c9|\u5728\u7559\u30ab\u30fc\u30c9\u756a\u53f7|\u5916\u56fd\u4eba\u767b\u9332|\uc678\uad6d\uc778\ub4f1\ub85d\ubc88\ud638|" +
	"\uac74\uac15\ubcf4\ud5d8|ch\u1ee9ng minh|s\u1ed1 cmnd|cmnd|\u0e40\u0e25\u0e02\u0e1a\u0e31\u0e15\u0e23|nomor induk kependudukan|nomor ktp|" +
	"kartu tanda penduduk|no kp|no. kp|kad pengenalan|national registration|nrc number|omang|nida number|huduma|kra pin|nuit|ghana card number|bilhete|" +
	"identity no|id no|id card|idcard|national code|national no|personal id|personal no|personal code|personal number|citizen card|citizen id|qid number|" +
	"qatar id|iqama number|emirates id number|absher|nit number|rnc|dui number|n\u00famero de documento|n\u00famero de dni|n\u00famero de identidad|" +
	"n\u00famero de identificaci\u00f3n|num\u00e9ro d'identit\u00e9|num\u00e9ro national|numero di identificazione|aadhaar number|abha number|abha|" +
	"uan number|esic number|ration card|vehicle identification number|vin number|chassis number" +
	"|cpr number|tax identification code|num\u00e9ro d'identification|identification nationale|nic number|qid|dui|gstin|gst number|\u10de\u10d8\u10e0\u10d0\u10d3\u10d8 \u10dc\u10dd\u10db\u10d4\u10e0\u10d8|\u043c\u0430\u0442\u0438\u0447\u0435\u043d \u0431\u0440\u043e\u0458|\u0440\u0435\u0433\u0438\u0441\u0442\u0440\u0438\u0439\u043d \u0434\u0443\u0433\u0430\u0430\u0440|sundhedskort|sjukf\u00f6rs\u00e4kringskort|kela-kortti|\u03b1\u03c1\u03b9\u03b8\u03bc\u03cc\u03c2 \u03b4\u03b9\u03b1\u03b2\u03b1\u03c4\u03b7\u03c1\u03af\u03bf\u03c5|\u043f\u0430\u0441\u043f\u043e\u0440\u0442\u0430|f\u0130n kod|fin kod" +
	"|national card|national number|carn\u00e9 de identidad|numri i identitetit|social services number|fayda|imei|imei number|uan|nrc|nrc number|matricule|matricule national|serie buletin|buletin|num\u00e9ro nin|nin|vin|\u0436\u0448\u0448\u0438\u0440|pinfl|jshshir|\u043f\u0438\u043d|inn number|numero di matricola|henkil\u00f6ntunnus" +
	"|putovnice|putovnici|pasnummer|pasnr|\u010d\u00edslo pasu|pasu|pa\u0219aport|pa\u0219aportului|num\u0103r pa\u0219aport|passin numero|passinumero|potnega lista|potni list|\u00fatlev\u00e9lsz\u00e1m|\u00fatlev\u00e9l sz\u00e1ma|pases numurs|pases numuru|paso numeris|passnr|pass nr|passi nr|\u03b4\u03b9\u03b1\u03b2\u03b1\u03c4\u03b7\u03c1\u03af\u03bf\u03c5|\u043f\u0430\u0441\u043f\u043e\u0440\u0442\u0443|\u043d\u043e\u043c\u0435\u0440 \u043f\u0430\u0441\u043f\u043e\u0440\u0442\u0443|\u043d\u043e\u043c\u0435\u0440 \u043d\u0430 \u043f\u0430\u0441\u043f\u043e\u0440\u0442|\u043f\u0430\u0441\u043f\u043e\u0440\u0442 \u0441\u0435\u0440\u0438\u044f|vegabr\u00e9f|pasaporta|dowodu osobistego|dowodu|osobne iskaznice|ob\u010dianskeho preukazu|ob\u010dansk\u00e9ho pr\u016fkazu|li\u010dne karte|\u043b\u0438\u0447\u043d\u0430\u0442\u0430 \u043a\u0430\u0440\u0442\u0430|id-\u043a\u0430\u0440\u0442\u043a\u0438|id \u043a\u0430\u0440\u0442\u043a\u0438|\u0456\u0434-\u043a\u0430\u0440\u0442\u043a\u0438|\u043f\u043e\u0441\u0432\u0456\u0434\u0447\u0435\u043d\u043d\u044f \u043e\u0441\u043e\u0431\u0438|identitetskort|identitetskortnummer|henkil\u00f6kortin numero|isikutunnistuse number|id-kaardi number|tapatyb\u0117s kortel\u0117s|apliec\u012bbas numurs|szem\u00e9lyi igazolv\u00e1ny sz\u00e1ma|\u03b1\u03c1\u03b9\u03b8\u03bc\u03cc\u03c2 \u03b4\u03b5\u03bb\u03c4\u03af\u03bf\u03c5 \u03c4\u03b1\u03c5\u03c4\u03cc\u03c4\u03b7\u03c4\u03b1\u03c2|pa\u017eym\u0117jimo numeris|vairuotojo pa\u017eym\u0117jimo numeris|voza\u010dke dozvole|vozni\u0161ko dovoljenje|vozni\u0161kega dovoljenja|permis de conducere|permisului de conducere|vodi\u010dsk\u00e9ho preukazu|\u0159idi\u010dsk\u00e9ho pr\u016fkazu|prawa jazdy|\u03ac\u03b4\u03b5\u03b9\u03b1\u03c2 \u03bf\u03b4\u03ae\u03b3\u03b7\u03c3\u03b7\u03c2|\u0432\u043e\u0434\u0438\u0442\u0435\u043b\u044c\u0441\u043a\u043e\u0433\u043e \u0443\u0434\u043e\u0441\u0442\u043e\u0432\u0435\u0440\u0435\u043d\u0438\u044f|\u0432\u043e\u0434\u0438\u0442\u0435\u043b\u044c\u0441\u043a\u0438\u0435 \u043f\u0440\u0430\u0432\u0430|\u043f\u043e\u0441\u0432\u0456\u0434\u0447\u0435\u043d\u043d\u044f \u0432\u043e\u0434\u0456\u044f|\u0441\u0432\u0438\u0434\u0435\u0442\u0435\u043b\u0441\u0442\u0432\u043e \u0437\u0430 \u0443\u043f\u0440\u0430\u0432\u043b\u0435\u043d\u0438\u0435|s\u00fcr\u00fcc\u00fc belgesi|s\u00fcr\u00fcc\u00fc belgesi no|ehliyet no|juhiloa number|vad\u012bt\u0101ja apliec\u012bbas|vad\u012bt\u0101ja apliec\u012bba|ajokortin|k\u00f6rkortsnummer|f\u00f8rerkortnummer|k\u00f8rekortnummer|rijbewijsnr|rijbewijs nr|f\u00fchrerausweis|fahrausweis|fahrausweisnummer|f\u00fchrerscheinnr|abgabenkontonummer|ust-id|ust-idnr|ustid|umsatzsteuer-id|vat number|vat no|vat id|vat reg no|di\u010d|da\u0148ov\u00e9 identifika\u010dn\u00ed \u010d\u00edslo|cif|cif number|utr number|dav\u010dna|verotunniste|taj|taj sz\u00e1m|taj number|tajsz\u00e1m|electoral roll|electoral roll number|permanent resident|permanent resident card|pr card|pr card number|resident card|kartu keluarga|nomor kk|no kk|nik|nomor nik|nomor induk|\u0631\u0642\u0645 \u0627\u0644\u0625\u0642\u0627\u0645\u0629|\u0631\u0642\u0645 \u0627\u0644\u0627\u0642\u0627\u0645\u0629|\u0631\u0642\u0645 \u062c\u0648\u0627\u0632 \u0627\u0644\u0633\u0641\u0631|\u0631\u0642\u0645 \u0627\u0644\u062c\u0648\u0627\u0632|\u05d4\u05d3\u05e8\u05db\u05d5\u05df|\u05de\u05e1\u05e4\u05e8 \u05d3\u05e8\u05db\u05d5\u05df|\u092e\u0924\u0926\u093e\u0924\u093e|\u092a\u093e\u0938\u092a\u094b\u0930\u094d\u091f \u0928\u0902\u092c\u0930|\u0906\u0927\u093e\u0930|\u092a\u0948\u0928|passport nr|v5c|v5c reference number|identity protection pin|ippin|transit number|nr dowodu osobistego|centrelink reference number|customer reference number|crn|crn number|pis/pasep|pasep|pis/pasep number|sairausvakuutuskortti|\u6e2f\u6fb3\u901a\u884c\u8bc1|\u53f0\u80de\u8bc1|\u901a\u884c\u8bc1|\u62a4\u7167|\u8b77\u7167\u865f\u78bc|\u8b77\u7167|\u8b77\u7167\u53f7|numer paszportu|\u03ac\u03b4\u03b5\u03b9\u03b1" +
	"|\u043f\u0430\u0448\u043f\u0430\u0440\u0442|\u043f\u0430\u0448\u043f\u043e\u0440\u0442|\u0442\u04e9\u043b\u049b\u04b1\u0436\u0430\u0442" +
	"|\u0442\u04e9\u043b\u049b\u04b1\u0436\u0430\u0442 \u043d\u04e9\u043c\u0456\u0440\u0456|pasport|pasport n\u00f6mr\u0259si|pasport raqami" +
	"|\u043f\u0430\u0441\u043f\u043e\u0440\u0442\u0438|\u043f\u0430\u0441\u043f\u043e\u0440\u0442\u0430" +
	"|\u0437\u0430\u0433\u0440\u0430\u043d\u043f\u0430\u0441\u043f\u043e\u0440\u0442|\u10de\u10d0\u10e1\u10de\u10dd\u10e0\u10e2\u10d8" +
	"|\u10de\u10d0\u10e1\u10de\u10dd\u10e0\u10e2\u10d8\u10e1 \u10dc\u10dd\u10db\u10d4\u10e0\u10d8|\u0561\u0576\u0571\u0576\u0561\u0563\u056b\u0580" +
	"|\u0561\u0576\u0571\u0576\u0561\u0563\u0580\u056b \u0570\u0561\u0574\u0561\u0580|passaport|\u043f\u0430\u0441\u043e\u0448" +
	"|\u043f\u0430\u0441\u043e\u0448\u043e\u0442|\u067e\u0627\u0633\u067e\u0648\u0631\u062a|\u06af\u0630\u0631\u0646\u0627\u0645\u0647" +
	"|\u067e\u0627\u0633\u067e\u0648\u0631\u0679|\u062c\u0648\u0627\u0632 \u0633\u0641\u0631" +
	"|\u067e\u0627\u0633\u067e\u0648\u0631\u0679 \u0646\u0645\u0628\u0631|pasipoti|\u09aa\u09be\u09b8\u09aa\u09cb\u09b0\u09cd\u099f" +
	"|\u09aa\u09be\u09b8\u09aa\u09cb\u09b0\u09cd\u099f \u09a8\u09ae\u09cd\u09ac\u09b0|\u092a\u093e\u0938\u092a\u094b\u0930\u094d\u091f" +
	"|\u092a\u093e\u0938\u092a\u094b\u0930\u094d\u091f \u0928\u0902\u092c\u0930" +
	"|\u0e2b\u0e19\u0e31\u0e07\u0e2a\u0e37\u0e2d\u0e40\u0e14\u0e34\u0e19\u0e17\u0e32\u0e07" +
	"|\u179b\u17b7\u1781\u17b7\u178f\u1786\u17d2\u179b\u1784\u178a\u17c2\u1793|\u8b77\u7167\u865f\u78bc|\u8b77\u7167" +
	"|\u099c\u09be\u09a4\u09c0\u09af\u09bc \u09aa\u09b0\u09bf\u099a\u09af\u09bc\u09aa\u09a4\u09cd\u09b0" +
	"|\u099c\u09be\u09a4\u09c0\u09af\u09bc \u09aa\u09b0\u09bf\u099a\u09af\u09bc\u09aa\u09a4\u09cd\u09b0 \u09a8\u09ae\u09cd\u09ac\u09b0" +
	"|\u098f\u09a8\u0986\u0987\u09a1\u09bf|\u0930\u093e\u0937\u094d\u091f\u094d\u0930\u0940\u092f \u092a\u0939\u091a\u093e\u0928" +
	"|\u0928\u093e\u0917\u0930\u093f\u0915\u0924\u093e|\u0928\u093e\u0917\u0930\u093f\u0915\u0924\u093e \u0928\u092e\u094d\u092c\u0930" +
	"|\u0906\u0927\u093e\u0930 \u0928\u0902\u092c\u0930|\u092a\u0948\u0928 \u0928\u0902\u092c\u0930" +
	"|\u0634\u0646\u0627\u062e\u062a\u06cc \u06a9\u0627\u0631\u0688|\u06a9\u0627\u0631\u062a \u0645\u0644\u06cc|kitambulisho|id-nommer|identiteitsnommer" +
	"|c\u00e9dula de ciudadan\u00eda|c\u00e9dula de identidad|carn\u00e9 de extranjer\u00eda|clave de elector|credencial de elector|t\u00edtulo de eleitor" +
	"|t\u00edtulo eleitoral|carnet de extranjeria|documento \u00fanico|n\u00famero \u00fanico" +
	"|\u043f\u043e\u0441\u0432\u0456\u0434\u0447\u0435\u043d\u043d\u044f \u043e\u0441\u043e\u0431\u0438" +
	"|\u043e\u0441\u043e\u0431\u043d\u0430 \u043a\u0430\u0440\u0442\u0430|\u043b\u0438\u0447\u043d\u0430 \u043a\u0430\u0440\u0442\u0430" +
	"|\u043d\u043e\u043c\u0435\u0440 \u043d\u0430 \u043b\u0438\u0447\u043d\u0430 \u043a\u0430\u0440\u0442\u0430|kimlik kart\u0131" +
	"|\u015f\u0259xsiyy\u0259t v\u0259siq\u0259si|\u0436\u0435\u043a\u0435 \u043a\u0443\u04d9\u043b\u0456\u043a|id karta|\u045e\u0437\u0438\u043d\u0438" +
	"|szem\u00e9lyi igazolv\u00e1ny sz\u00e1m|\u043f\u0435\u0440\u0441\u043e\u043d\u0430\u043b\u043d\u0438 \u043d\u043e\u043c\u0435\u0440|personnummer" +
	"|f\u00f8dselsnummer|versichertenkarte|versichertenkarte nr|krankenversicherung|assurance maladie|num\u00e9ro d'assurance maladie" +
	"|carte d'assurance maladie|medizinische versicherungsnummer|\u5065\u4fdd\u5361|\u5065\u4fdd\u5361\u865f|\u533b\u4fdd\u5361|\u533b\u4fdd\u5361\u53f7" +
	"|\u793e\u4fdd\u5361\u53f7|bpjs|nomor bpjs|kartu bpjs|\u5065\u5eb7\u4fdd\u967a\u8a3c|b\u1ea3o hi\u1ec3m y t\u1ebf|s\u1ed1 bhxh" +
	"|\uac74\uac15\ubcf4\ud5d8\uc99d|\uac74\uac15\ubcf4\ud5d8\uc99d \ubc88\ud638|\u05e9\u05d9\u05e8\u05d5\u05ea\u05d9 \u05d1\u05e8\u05d9\u05d0\u05d5\u05ea" +
	"|\u0441\u043e\u0446\u0438\u0430\u043b\u044c\u043d\u044b\u0439 \u043d\u043e\u043c\u0435\u0440|\u043f\u043e\u043b\u0438\u0441 \u0434\u043c\u0441" +
	"|numer ubezpieczenia|driver number|nomor sim|\u05e8\u05d9\u05e9\u05d9\u05d5\u05df \u05e0\u05d4\u05d9\u05d2\u05d4" +
	"|\u05de\u05e1\u05e4\u05e8 \u05e8\u05d9\u05e9\u05d9\u05d5\u05df \u05e0\u05d4\u05d9\u05d2\u05d4" +
	"|\u0631\u062e\u0635\u0629 \u0627\u0644\u0642\u064a\u0627\u062f\u0629" +
	"|\u0631\u0642\u0645 \u0631\u062e\u0635\u0629 \u0627\u0644\u0642\u064a\u0627\u062f\u0629" +
	"|\u0921\u094d\u0930\u093e\u0907\u0935\u093f\u0902\u0917 \u0932\u093e\u0907\u0938\u0947\u0902\u0938|\u0e43\u0e1a\u0e02\u0e31\u0e1a\u0e02\u0e35\u0e48" +
	"|gi\u1ea5y ph\u00e9p l\u00e1i xe|b\u1eb1ng l\u00e1i|\u99d5\u7167|\u99d5\u7167\u865f\u78bc|\u99d5\u99db\u57f7\u7167" +
	"|\u043f\u043e\u0441\u0432\u0456\u0434\u0447\u0435\u043d\u043d\u044f \u0432\u043e\u0434\u0456\u044f" +
	"|\u0448\u043e\u0444\u044c\u043e\u0440\u0441\u043a\u0430 \u043a\u043d\u0438\u0436\u043a\u0430" +
	"|\u0432\u043e\u0434\u0438\u0442\u0435\u043b\u044c\u0441\u043a\u0438\u0435 \u043f\u0440\u0430\u0432\u0430|vodi\u010dsk\u00fd preukaz" +
	"|s\u00fcr\u00fcc\u00fc v\u0259siq\u0259si|s\u00fcr\u00fcc\u00fc belgesi|haydovchilik guvohnomasi" +
	"|\u0436\u04af\u0440\u0433\u0456\u0437\u0443\u0448\u0456 \u043a\u0443\u04d9\u043b\u0456\u0433\u0456|vozni\u0161ko dovoljenje|prawa jazdy" +
	"|k\u00f6rkortsnummer|f\u00f8rerkortnummer|k\u00f8rekortnummer|ajokortti|ajokortin numero|rijbewijsnummer|\u56de\u9109\u8b49" +
	"|\u56de\u9109\u8b49\u865f\u78bc|\u56de\u4e61\u8bc1|\u56de\u4e61\u8bc1\u53f7\u7801|\u6e2f\u6fb3\u901a\u884c\u8b49|\u53f0\u80de\u8b49|\u53f0\u80de\u8bc1" +
	"|\u53f0\u6e7e\u901a\u884c\u8bc1|ptin|laser code|\u0e23\u0e2b\u0e31\u0e2a\u0e2b\u0e25\u0e31\u0e07\u0e1a\u0e31\u0e15\u0e23|iccid|imsi|residence no" +
	"|residence permit number|carte de s\u00e9jour|titre de s\u00e9jour|permesso di soggiorno|aufenthaltstitel|permiso de residencia" +
	"|\u0432\u0438\u0434 \u043d\u0430 \u0436\u0438\u0442\u0435\u043b\u044c\u0441\u0442\u0432\u043e|ikamet izni|ikamet numaras\u0131|personalausweis-nr" +
	"|ausweis-nr|rg n\u00ba|fin kod|fin kodu" +
	"|dod id number|dod id|edipi|schufa-id|schufa id|schufa|\u0458\u043c\u0431\u0433|\u0627\u0644\u0628\u0637\u0627\u0642\u0629 \u0627\u0644\u0634\u062e\u0635\u064a\u0629|\u0631\u0642\u0645 \u0627\u0644\u0628\u0637\u0627\u0642\u0629|\u0631\u0642\u0645 \u0627\u0644\u0628\u0637\u0627\u0642\u0629 \u0627\u0644\u0634\u062e\u0635\u064a\u0629|\u0634\u0645\u0627\u0631\u0647 \u06a9\u0627\u0631\u062a|\u0634\u0645\u0627\u0631\u0647 \u0634\u0646\u0627\u0633\u0646\u0627\u0645\u0647|\u06a9\u062f \u0645\u0644\u06cc|cart\u00e3o nacional de sa\u00fade|n\u00famero do cns|\u30d1\u30b9\u30dd\u30fc\u30c8|\u30d1\u30b9\u30dd\u30fc\u30c8\u756a\u53f7|\u30de\u30a4\u30ca\u30f3\u30d0\u30fc\u30ab\u30fc\u30c9|adoption taxpayer|atin number"

// documentNumber holds for what the number of a paper looks like: 6 to 20 letters and digits, most of them digits or no word, and neither a date nor years.
func documentNumber(d string) bool {
	if len(d) < 6 || len(d) > 20 || !notOneByte(d) || years(d) {
		return false
	}
	n := digitCount(d)
	return n*2 >= len(d) || n >= 3 && (unlikely(d) > 0 || len(d) <= 10)
}
