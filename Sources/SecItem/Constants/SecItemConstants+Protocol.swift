// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Values of kSecAttrProtocol; four characters each, blanks included. Others are stored as well.

// The same texts as objects, which the compiler prefers, are documented in CoreFoundationNames.

@_disfavoredOverload public let kSecAttrProtocolFTP = "ftp "
@_disfavoredOverload public let kSecAttrProtocolFTPAccount = "ftpa"
@_disfavoredOverload public let kSecAttrProtocolHTTP = "http"
@_disfavoredOverload public let kSecAttrProtocolIRC = "irc "
@_disfavoredOverload public let kSecAttrProtocolNNTP = "nntp"
@_disfavoredOverload public let kSecAttrProtocolPOP3 = "pop3"
@_disfavoredOverload public let kSecAttrProtocolSMTP = "smtp"
@_disfavoredOverload public let kSecAttrProtocolSOCKS = "sox "
@_disfavoredOverload public let kSecAttrProtocolIMAP = "imap"
@_disfavoredOverload public let kSecAttrProtocolLDAP = "ldap"
@_disfavoredOverload public let kSecAttrProtocolAppleTalk = "atlk"
@_disfavoredOverload public let kSecAttrProtocolAFP = "afp "
@_disfavoredOverload public let kSecAttrProtocolTelnet = "teln"
@_disfavoredOverload public let kSecAttrProtocolSSH = "ssh "
@_disfavoredOverload public let kSecAttrProtocolFTPS = "ftps"
@_disfavoredOverload public let kSecAttrProtocolHTTPS = "htps"
@_disfavoredOverload public let kSecAttrProtocolHTTPProxy = "htpx"
@_disfavoredOverload public let kSecAttrProtocolHTTPSProxy = "htsx"
@_disfavoredOverload public let kSecAttrProtocolFTPProxy = "ftpx"
@_disfavoredOverload public let kSecAttrProtocolSMB = "smb "
@_disfavoredOverload public let kSecAttrProtocolRTSP = "rtsp"
@_disfavoredOverload public let kSecAttrProtocolRTSPProxy = "rtsx"
@_disfavoredOverload public let kSecAttrProtocolDAAP = "daap"
@_disfavoredOverload public let kSecAttrProtocolEPPC = "eppc"
@_disfavoredOverload public let kSecAttrProtocolIPP = "ipp "
@_disfavoredOverload public let kSecAttrProtocolNNTPS = "ntps"
@_disfavoredOverload public let kSecAttrProtocolLDAPS = "ldps"
@_disfavoredOverload public let kSecAttrProtocolTelnetS = "tels"
@_disfavoredOverload public let kSecAttrProtocolIMAPS = "imps"
@_disfavoredOverload public let kSecAttrProtocolIRCS = "ircs"
@_disfavoredOverload public let kSecAttrProtocolPOP3S = "pops"
