// SPDX-License-Identifier: Apache-2.0

// Values of kSecAttrProtocol; four characters each, blanks included. Others are stored as well.

/// The protocol of an internet password: FTP.
public let kSecAttrProtocolFTP: CFString = "ftp "
/// The protocol of an internet password: an account for FTP.
public let kSecAttrProtocolFTPAccount: CFString = "ftpa"
/// The protocol of an internet password: HTTP.
public let kSecAttrProtocolHTTP: CFString = "http"
/// The protocol of an internet password: IRC.
public let kSecAttrProtocolIRC: CFString = "irc "
/// The protocol of an internet password: NNTP.
public let kSecAttrProtocolNNTP: CFString = "nntp"
/// The protocol of an internet password: POP3.
public let kSecAttrProtocolPOP3: CFString = "pop3"
/// The protocol of an internet password: SMTP.
public let kSecAttrProtocolSMTP: CFString = "smtp"
/// The protocol of an internet password: SOCKS.
public let kSecAttrProtocolSOCKS: CFString = "sox "
/// The protocol of an internet password: IMAP.
public let kSecAttrProtocolIMAP: CFString = "imap"
/// The protocol of an internet password: LDAP.
public let kSecAttrProtocolLDAP: CFString = "ldap"
/// The protocol of an internet password: AppleTalk.
public let kSecAttrProtocolAppleTalk: CFString = "atlk"
/// The protocol of an internet password: AFP.
public let kSecAttrProtocolAFP: CFString = "afp "
/// The protocol of an internet password: Telnet.
public let kSecAttrProtocolTelnet: CFString = "teln"
/// The protocol of an internet password: SSH.
public let kSecAttrProtocolSSH: CFString = "ssh "
/// The protocol of an internet password: FTP over TLS.
public let kSecAttrProtocolFTPS: CFString = "ftps"
/// The protocol of an internet password: HTTP over TLS.
public let kSecAttrProtocolHTTPS: CFString = "htps"
/// The protocol of an internet password: an HTTP proxy.
public let kSecAttrProtocolHTTPProxy: CFString = "htpx"
/// The protocol of an internet password: an HTTPS proxy.
public let kSecAttrProtocolHTTPSProxy: CFString = "htsx"
/// The protocol of an internet password: an FTP proxy.
public let kSecAttrProtocolFTPProxy: CFString = "ftpx"
/// The protocol of an internet password: SMB.
public let kSecAttrProtocolSMB: CFString = "smb "
/// The protocol of an internet password: RTSP.
public let kSecAttrProtocolRTSP: CFString = "rtsp"
/// The protocol of an internet password: an RTSP proxy.
public let kSecAttrProtocolRTSPProxy: CFString = "rtsx"
/// The protocol of an internet password: DAAP.
public let kSecAttrProtocolDAAP: CFString = "daap"
/// The protocol of an internet password: remote Apple events.
public let kSecAttrProtocolEPPC: CFString = "eppc"
/// The protocol of an internet password: IPP.
public let kSecAttrProtocolIPP: CFString = "ipp "
/// The protocol of an internet password: NNTP over TLS.
public let kSecAttrProtocolNNTPS: CFString = "ntps"
/// The protocol of an internet password: LDAP over TLS.
public let kSecAttrProtocolLDAPS: CFString = "ldps"
/// The protocol of an internet password: Telnet over TLS.
public let kSecAttrProtocolTelnetS: CFString = "tels"
/// The protocol of an internet password: IMAP over TLS.
public let kSecAttrProtocolIMAPS: CFString = "imps"
/// The protocol of an internet password: IRC over TLS.
public let kSecAttrProtocolIRCS: CFString = "ircs"
/// The protocol of an internet password: POP3 over TLS.
public let kSecAttrProtocolPOP3S: CFString = "pops"
