// SPDX-License-Identifier: Apache-2.0

/// Transforms pieces with the help of one other thread, while the caller makes more of them.
/// Listing uses it to open names while it reads rows.
///
/// No thread waits for another: if the other thread is behind, the caller transforms a piece
/// itself. When all else is done, it also repeats the piece that the other thread has begun.
package final class ParallelMap<Input: Sendable, Output: Sendable>: Sendable {
    private struct State {
        /// The added pieces; nil once they are transformed.
        var inputs: [Input?] = []
        /// The results, in the order of adding.
        var outputs: [Output?] = []
        /// The first input that no thread has begun.
        var next = 0
        var isHelped = false
    }

    private let state = Lock(State())
    private let transform: @Sendable (Input) -> Output

    /// How many pieces no thread has begun when the caller transforms one itself.
    private static var longestQueue: Int { 3 }

    /// - Parameter transform: Runs on either thread, and may run twice for a piece.
    package init(_ transform: @escaping @Sendable (Input) -> Output) {
        self.transform = transform
    }

    /// Adds a piece. Transforming it should take much longer than starting a thread.
    package func add(_ input: Input) {
        let (needsHelp, isLong) = state.withLock { state in
            state.inputs.append(input)
            state.outputs.append(nil)
            let needsHelp = !state.isHelped && state.inputs.count > 1
            if needsHelp { state.isHelped = true }
            return (needsHelp, state.inputs.count - state.next >= Self.longestQueue)
        }
        if needsHelp {
            do {
                try BackgroundThread.start { self.help() }
            } catch {
                // The caller does everything itself.
                state.withLock { $0.isHelped = false }
            }
        }
        if isLong, let (index, input) = begin() { end(index, transform(input)) }
    }

    /// Transforms the remaining pieces.
    ///
    /// - Returns: The results of all pieces, in the order of adding.
    package func finish() -> [Output] {
        while let (index, input) = begin() { end(index, transform(input)) }
        let (inputs, outputs) = state.withLock { ($0.inputs, $0.outputs) }
        return zip(inputs, outputs).compactMap { input, output in
            output ?? input.map(transform)
        }
    }

    private func help() {
        while let (index, input) = begin(isHelper: true) { end(index, transform(input)) }
    }

    private func begin(isHelper: Bool = false) -> (Int, Input)? {
        state.withLock { state in
            guard state.next < state.inputs.count, let input = state.inputs[state.next] else {
                if isHelper { state.isHelped = false }
                return nil
            }
            state.next += 1
            return (state.next - 1, input)
        }
    }

    private func end(_ index: Int, _ output: Output) {
        state.withLock { state in
            state.outputs[index] = output
            state.inputs[index] = nil
        }
    }
}
