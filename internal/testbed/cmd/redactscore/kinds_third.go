// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

// The third set was drawn when the rules for the second were done, from rules of Kingfisher and Nosey Parker that nobody had read before and from
// configurations and protocols, and scored before any rule was changed. It is in the notation of the other tables.
const thirdVendor = `
BANNERBEAR_API_KEY         [A-Za-z0-9]{22}tt
AYRSHARE_TOKEN             [A-Z0-9]{8}-[A-Z0-9]{8}-[A-Z0-9]{8}-[A-Z0-9]{8}
APITEMPLATE_KEY            [A-Za-z0-9]{39}
BAREMETRICS_API_KEY        [a-z0-9]{25}
BORGBASE_TOKEN             [A-Za-z0-9_.-]{150}
CLOSECRM_API_KEY!          api_[A-Za-z0-9.]{45}
APPOPTICS_TOKEN            [A-Za-z0-9_-]{71}
BUDIBASE_API_KEY           [a-f0-9]{32}-[a-f0-9]{78}
CANNY_SECRET_ACCESS_KEY    [a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}
BLITAPP_ACCESS_TOKEN       [A-Za-z0-9_-]{39}
AUTOKLOSE_TOKEN            [A-Za-z0-9-]{32}
CLOUDPLAN_PRIVATE          [A-Z0-9]{32}
BRANCH_KEY!                key_live_[A-Za-z0-9]{32}
BRANCH_SECRET              [A-Za-z0-9]{40}
CLAY_KEY                   [a-f0-9]{20}
CIELO_MERCHANT_KEY         [A-Za-z0-9]{40}
CARTO_KEY!                 eyJhbGciOiJIUzI1NiJ9\.eyJhIjoi[A-Za-z0-9_-]{60}\.[A-Za-z0-9_-]{43}
CLOCKWORK_API_KEY          [a-f0-9]{40}
AGORA_APP_SECRET           [a-f0-9]{32}
TRUENAS_API_KEY            [1-9]-[A-Za-z0-9]{64}
DTRACK_API_KEY!            odt_[A-Za-z0-9]{32}
PROVISION_DEVICE_SECRET    [a-z0-9]{20}
REACT_APP_AUTH_PASS        [a-z]{10}
PYX_TOKEN!                 sk-pyx-[A-Za-z0-9]{64}
PYX_PUBLISH_TOKEN!         tp-pyx-[A-Za-z0-9]{64}
RESTIC_PASSWORD            [a-z]{6}-[a-z]{7}
RCLONE_CONFIG_PASS         [A-Za-z0-9_-]{30}
DJANGO_SUPERUSER_PASSWORD  [A-Za-z0-9]{12}
ELASTIC_PASSWORD           [A-Za-z0-9*=+-]{20}
KEYCLOAK_ADMIN_PASSWORD    [a-z]{8}[0-9]{2}
NEXTCLOUD_ADMIN_PASSWORD   [A-Za-z0-9]{16}
`

const thirdPerson = `
AR national identity        | dni                    | 12.345.678
MA identity card            | cin                    | AB123456
phone NG                    | phone number           | 0803 123 4567
phone TH                    | mobile                 | 081-234-5678
IBAN AE                     | iban                   | AE07 0331 2345 6789 0123 456
`

const thirdText = `
blynk url                   | https://fra1.blynk.cloud/external/api/get?token={H}&V1
thingsboard url             | http://thingsboard.cloud/api/v1/{X20}/telemetry
truenas websocket           | {"method":"auth.login_with_api_key","params":["8-{H}{H}"]}
psexec                      | psexec \\\\10.0.94.120 -u Administrator -p {P} cmd
vmware                      | Connect-VIServer vc.lab.local -user ada@vsphere.local -password {P}
phpmailer                   | $mail->Password   = '{P}';
gitalk                      | clientSecret:'{X40}',
odbc spaces                 | Database=Delay; User Id=km; password= {P}
git credentials             | https://ada:{P}@git.example.com
pypirc                      | [pypi]\nusername = ada\npassword = {P}
gcloud sql                  | gcloud sql users set-password ada --instance=x --password={P}
ssh-keygen                  | ssh-keygen -t ed25519 -N {P} -f key
imap login                  | a1 LOGIN ada {P}
ftp pass                    | USER ada\nPASS {P}
redis auth                  | redis> AUTH {P}
redis requirepass           | requirepass {P}
ldap bindpw                 | bindpw {P}
postfix sasl                | [smtp.example.com]:587 ada:{P}
hostapd                     | wpa_passphrase={P}
mysql set password          | SET PASSWORD FOR 'ada'@'%' = PASSWORD('{P}');
mongo create user           | db.createUser({user: "ada", pwd: "{P}", roles: []})
rabbitmqctl                 | rabbitmqctl add_user ada {P}
smtp auth plain             | AUTH PLAIN {C}
expect                      | expect "assword:"\nsend "{P}\\r"
prose i set                 | I set the password for ada to {P}
prose login with            | you can log in with ada / {P}
prose de zugang             | Zugangsdaten: ada / {P}
prose uk is                 | пароль від пошти {P}
yaml list                   | users:\n  - name: ada\n    password: {P}
json token                  | {"access_token":"{H}","expires_in":3600}
`
