/** What pills refuse, in the words of `polycontext.pills.errors`: a user is shown the message as it is. */
export class PillError extends Error {}

/** A name that cannot stand in a pill, or a type that is none. */
export class InvalidPillNameError extends PillError {
  constructor(readonly pill: string) {
    super("Invalid context name");
  }
}

/** The same context is attached already: legal is to update the pill that is there. */
export class DuplicatePillError extends PillError {
  constructor(readonly pill: string) {
    super("Context already attached");
  }
}

/** The content of a pill cannot be had now: `reason` is what its resolver says, such as "file not found". */
export class CannotAttachError extends PillError {
  constructor(
    readonly pill: string,
    reason: string,
  ) {
    super(reason ? `Cannot attach context: ${reason}` : "Cannot attach context");
  }
}

/** A position outside of the text, or inside of a pill. */
export class PositionError extends PillError {
  constructor(readonly position: number) {
    super("no such place");
  }
}

/** No pill of the document has the name. */
export class UnknownPillError extends PillError {
  constructor(readonly pill: string) {
    super("no such pill");
  }
}

/** Text that no store takes: half of a character. */
export class InvalidTextError extends PillError {
  constructor() {
    super("no such text");
  }
}
