// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Values of kSecAttrProtocol; four characters each, blanks included. Others are stored as well.

// For the parser alone: CoreFoundationNames has the objects that programs use.

@_disfavoredOverload package let kSecAttrProtocolFTP = "ftp "
@_disfavoredOverload package let kSecAttrProtocolFTPAccount = "ftpa"
@_disfavoredOverload package let kSecAttrProtocolHTTP = "http"
@_disfavoredOverload package let kSecAttrProtocolIRC = "irc "
@_disfavoredOverload package let kSecAttrProtocolNNTP = "nntp"
@_disfavoredOverload package let kSecAttrProtocolPOP3 = "pop3"
@_disfavoredOverload package let kSecAttrProtocolSMTP = "smtp"
@_disfavoredOverload package let kSecAttrProtocolSOCKS = "sox "
@_disfavoredOverload package let kSecAttrProtocolIMAP = "imap"
@_disfavoredOverload package let kSecAttrProtocolLDAP = "ldap"
@_disfavoredOverload package let kSecAttrProtocolAppleTalk = "atlk"
@_disfavoredOverload package let kSecAttrProtocolAFP = "afp "
@_disfavoredOverload package let kSecAttrProtocolTelnet = "teln"
@_disfavoredOverload package let kSecAttrProtocolSSH = "ssh "
@_disfavoredOverload package let kSecAttrProtocolFTPS = "ftps"
@_disfavoredOverload package let kSecAttrProtocolHTTPS = "htps"
@_disfavoredOverload package let kSecAttrProtocolHTTPProxy = "htpx"
@_disfavoredOverload package let kSecAttrProtocolHTTPSProxy = "htsx"
@_disfavoredOverload package let kSecAttrProtocolFTPProxy = "ftpx"
@_disfavoredOverload package let kSecAttrProtocolSMB = "smb "
@_disfavoredOverload package let kSecAttrProtocolRTSP = "rtsp"
@_disfavoredOverload package let kSecAttrProtocolRTSPProxy = "rtsx"
@_disfavoredOverload package let kSecAttrProtocolDAAP = "daap"
@_disfavoredOverload package let kSecAttrProtocolEPPC = "eppc"
@_disfavoredOverload package let kSecAttrProtocolIPP = "ipp "
@_disfavoredOverload package let kSecAttrProtocolNNTPS = "ntps"
@_disfavoredOverload package let kSecAttrProtocolLDAPS = "ldps"
@_disfavoredOverload package let kSecAttrProtocolTelnetS = "tels"
@_disfavoredOverload package let kSecAttrProtocolIMAPS = "imps"
@_disfavoredOverload package let kSecAttrProtocolIRCS = "ircs"
@_disfavoredOverload package let kSecAttrProtocolPOP3S = "pops"
