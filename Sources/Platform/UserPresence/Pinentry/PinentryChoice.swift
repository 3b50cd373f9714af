// SPDX-License-Identifier: Apache-2.0

/// The choice of one of several answers, as pages with one answer each. Only "OK" chooses it: some
/// pinentries report the button in the middle where the person has closed the window.
///
/// With three buttons each page has its answer, "More…" for the next page, and the refusal. With
/// two, a first page has the refusal, and the others have "More…" in its place.
struct PinentryChoice {
    enum Button: Equatable {
        case ok, other, cancel
    }

    struct Page: Equatable {
        let ok: String
        /// The button in the middle, if there is a third one.
        let other: String?
        let cancel: String
    }

    enum Outcome: Equatable {
        case chosen(Int)
        case refused
        /// There is another page.
        case more
    }

    private static let more = "More…"

    private let answers: [String]
    private let refusal: String
    private let hasThreeButtons: Bool
    /// The answer of this page; nil for the page that has none.
    private var index: Int?

    /// - Parameter answers: At least one.
    init(_ answers: [String], refusal: String, hasThreeButtons: Bool) {
        (self.answers, self.refusal) = (answers, refusal)
        self.hasThreeButtons = hasThreeButtons
        index = hasThreeButtons || answers.count == 1 ? 0 : nil
    }

    var page: Page {
        guard let index else { return Page(ok: "Allow…", other: nil, cancel: refusal) }
        let answer = answers[index]
        guard index + 1 < answers.count else {
            return Page(ok: answer, other: nil, cancel: refusal)
        }
        return hasThreeButtons
            ? Page(ok: answer, other: Self.more, cancel: refusal)
            : Page(ok: answer, other: nil, cancel: Self.more)
    }

    /// What follows when the person presses a button of the page.
    mutating func press(_ button: Button) -> Outcome {
        guard let index else {
            self.index = 0
            return button == .ok ? .more : .refused
        }
        if button == .ok { return .chosen(index) }
        guard index + 1 < answers.count, button == .other || !hasThreeButtons else {
            return .refused
        }
        self.index = index + 1
        return .more
    }
}

extension PinentryChoice.Button {
    /// The button behind the error that a pinentry answers `CONFIRM` with; nil for another error,
    /// and for a window that was closed.
    init?(_ error: PinentryRefusal) {
        switch error.number & 0xFFFF {
        case 99: self = .cancel
        case 114: self = .other
        default: return nil
        }
    }
}
