Name: Unlock the keychain of Valet with the login password
Default: no
Priority: -1
Auth-Type: Additional
Auth:
	optional	pam_valet.so
Session-Type: Additional
Session-Interactive-Only: yes
Session:
	optional	pam_valet.so
Password-Type: Additional
Password:
	optional	pam_valet.so
