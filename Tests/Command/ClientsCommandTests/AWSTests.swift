// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetCLI
import ValetSealing

@testable import ValetClientsCommand

@Suite struct `Keys of AWS` {
    /// 2030-01-31T12:00:00Z.
    private static let noon: Int64 = 1_896_091_200

    @Test(arguments: [
        "2030-01-31T12:00:00Z", "2030-01-31T12:00:00+00:00", "2030-01-31T12:00:00-00:00",
        "2030-01-31T14:30:00+02:30", "2030-01-31T02:00:00-10:00", "2030-01-31T12:00:00.000Z",
        "2030-01-31T12:00:00.999999999999Z", "2030-02-01T00:00:00+12:00",
    ])
    func `keep an expiration in the form of RFC 3339 as it is`(_ text: String) throws {
        let time = try #require(ISOTime(text))
        #expect(time.seconds == Self.noon)
        #expect(time.isInternet)
    }

    @Test(arguments: [
        "2030-01-31T12:00Z", "2030-01-31T12Z", "20300131T120000Z", "20300131T1200Z", "20300131T12Z",
        "2030-01-31T13:00+01", "2030-01-31T13:00:00+0100", "20300131T130000+0100",
        "20300131T130000+01:00", "2030-01-31T12:00:00", "2030-01-31 12:00:00Z",
        "2030-01-31t12:00:00z", "2030-01-31T12:00:00,5Z", "2030-01-31T11:59.999999999Z",
        "2030-01-31T11.5+00", "2030-031T12:00:00Z", "2030031T120000Z", "2030-W05-4T12:00:00Z",
        "2030W054T120000Z", "2030-01-31T120000Z",
    ])
    func `read an expiration in every other form of ISO 8601`(_ text: String) throws {
        let time = try #require(ISOTime(text))
        // A fraction of a minute or an hour may be a little less than the time.
        let seconds = text.contains("11:59.") ? Self.noon - 1 : Self.noon
        #expect(time.seconds == (text.contains("11.5") ? Self.noon - 1800 : seconds))
        #expect(!time.isInternet)
        #expect(ISOTime(time.text)?.seconds == time.seconds)
    }

    @Test(
        arguments: [
            ("2030-01-31", 1_896_048_000), ("2030-01-31T24:00:00Z", 1_896_134_400),
            ("2028-02-29T00:00:00Z", 1_835_395_200), ("1970-01-01T00:00:00Z", 0),
            ("2016-12-31T23:59:60Z", 1_483_228_800), ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("2026-W01-1", 1_766_966_400), ("2024-366", 1_735_603_200),
        ] as [(String, Int64)])
    func `know the calendar`(_ text: String, _ seconds: Int64) {
        #expect(ISOTime(text)?.seconds == seconds)
    }

    @Test(arguments: [
        "", "now", "2030", "2030-01", "2030-1-31", "2030-13-01", "2030-02-29", "2030-00-10",
        "2030-366", "2030-W54-1", "2030-W05-8", "2030-01-31T", "2030-01-31T25:00Z",
        "2030-01-31T24:01Z", "2030-01-31T12:60Z", "2030-01-31T12:00:61Z", "2030-01-31T12:00:00.Z",
        "2030-01-31T12:00:00+24:00", "2030-01-31T12:00:00+1", "2030-01-31T12:00:00+01:60",
        "2030-01-31T12:00:00Z ", " 2030-01-31T12:00:00Z", "2030-01-31T12:00:00ZZ", "1969-12-31",
        "10000-01-01", "2030-0131", "202001-31", "20300131T12:0000Z", "2030-01-31T12:00:00 Z",
        "\u{662}\u{660}30-01-31",
    ])
    func `refuse an expiration that is no time`(_ text: String) {
        #expect(ISOTime(text) == nil)
    }

    @Test(
        arguments: [
            (1_896_091_200, 1_896_091_200), (1_896_091_200_000, 1_896_091_200), (0, 0), (-1, nil),
            (Int64.max, nil), (Int64.min, nil), (253_402_300_799_000, 253_402_300_799),
        ] as [(Int64, Int64?)])
    func `read seconds and milliseconds since 1970`(_ number: Int64, _ seconds: Int64?) {
        #expect(ISOTime(sinceEpoch: number)?.seconds == seconds)
    }

    private func keys(_ json: String) throws(CLIError) -> String? {
        text(try AWSKeySet(parsing: secret(json), called: "the input").encoded)
    }

    private static let permanent =
        #"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"S"}"#
    private static let temporary =
        #"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"S","SessionToken":"T","#
        + #""Expiration":"2030-01-31T12:00:00Z","AccountId":"012345678901"}"#

    @Test(arguments: [
        permanent, #"{"AccessKeyId":"A","SecretAccessKey":"S","SessionToken":null,"Other":[1]}"#,
        #"{"AccessKeyId":"A","SecretAccessKey":"S","SessionToken":"","Expiration":""}"#,
        #"{"AccessKey":{"UserName":"u","AccessKeyId":"A","SecretAccessKey":"S"}}"#,
    ])
    func `are read from what the tools write`(_ json: String) throws {
        #expect(try keys(json) == Self.permanent)
    }

    @Test(arguments: [
        temporary,
        #"{"Credentials":{"AccessKeyId":"A","SecretAccessKey":"S","SessionToken":"T","#
            + #""Expiration":"2030-01-31T12:00Z","AccountId":"012345678901"},"Role":{}}"#,
        #"{"roleCredentials":{"accessKeyId":"A","secretAccessKey":"S","sessionToken":"T","#
            + #""expiration":1896091200000,"accountId":"012345678901"}}"#,
        #"{"Code":"Success","AccessKeyId":"A","SecretAccessKey":"S","Token":"T","#
            + #""Expiration":1896091200.75,"AccountId":"012345678901"}"#,
    ])
    func `keep the token, the expiration and the account`(_ json: String) throws {
        #expect(try keys(json) == Self.temporary)
    }

    @Test(arguments: [
        (#""Expiration":true"#, "has an Expiration that is not a time"),
        (#""Expiration":"soon""#, "has an Expiration that is not a time"),
        (#""Expiration":1e300"#, "has an Expiration that is not a time"),
        (#""Expiration":99999999999999999999"#, "has an Expiration that is not a time"),
        (#""AccountId":12"#, "has a member AccountId that is not a string"),
        (#""SessionToken":{}"#, "has a member SessionToken that is not a string"),
        (#""Version":2"#, "has a Version that is not the number 1"),
        (#""Version":"1""#, "has a Version that is not the number 1"),
        (#""accessKeyId":"B""#, "has two members AccessKeyId"),
        (#""Token":"T","SessionToken":"T""#, "has two members SessionToken"),
    ])
    func `are refused with members that no tool writes`(
        _ member: String, _ message: String
    ) throws {
        let error = #expect(throws: CLIError.self) {
            _ = try keys(#"{"AccessKeyId":"A","SecretAccessKey":"S",\#(member)}"#)
        }
        #expect(error?.code == .damaged)
        #expect(error?.message == "the input \(message)")
    }
}
