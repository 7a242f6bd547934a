/**
 * What a channel is, in one value. The domain, the stores and the publisher use this value and know
 * no channel by name. So a new channel only needs a new declaration.
 *
 * What must hold: a declaration consists of constants and pure functions. Whatever needs a
 * connection or credentials belongs in the channel itself (channel.ts).
 */
import type { Run } from '../run.ts'
import type { AnnouncedOutput, RunAnnouncement } from './announce.ts'
import type { Delivery, DeliveryKind } from './delivery.ts'
import type { SendFailure } from './outcome.ts'

/** What is published, in the channel's stored form. */
export type Content = Readonly<Record<string, unknown>>

export interface ChannelDeclaration {
  readonly name: string
  /** The kind of what runs publish there themselves. An announcement is always a state. */
  readonly kind: DeliveryKind
  /** Where it is published: on a pull request or issue, on a commit, or at an address. */
  readonly place: 'thread' | 'commit' | 'address' | 'none'
  /**
   * How a newer version replaces an older one:
   * - `edit`: the existing output is changed.
   * - `create`: every write creates a new output, and the newest one is shown.
   * - `set`: it is a value that people can set too; writing it twice changes nothing.
   */
  readonly replacedBy: 'edit' | 'create' | 'set'
  /** Which of two copies is kept; the other one is removed. Null: copies are not looked for. */
  readonly keptCopy: 'oldest' | 'newest' | null
  /** Before the first create, a look checks whether an output of ours is already there. */
  readonly looksFirst: boolean
  readonly inDoubt: InDoubtPolicy
  /** The maximum number of writes per target that only show progress; null: no limit. */
  readonly progressWritesMax: number | null
  /** If it is missing, a person may have removed it. */
  readonly peopleCanRemove: boolean
  /** Each write notifies people, so the other side may refuse writes that come too fast. */
  readonly notifiesPeople: boolean
  /** Runs of several subjects share a target. A run without a result gives the target back. */
  readonly givesBack: boolean
  /** A run may publish there without a right in the configuration. */
  readonly isAllowedByDefault: boolean
  /** The identity whose budget a write counts against. Null: GitHub must be asked (`admission`). */
  readonly identityOf: ((place: Pick<Delivery, 'address'>) => string) | null
  /** What an error of its connection means; null for an error that is not its connection's. */
  readonly failureOf: (error: unknown) => SendFailure | null
  readonly output: OutputKeys
  /** Whether a content shows work in progress, which must be closed when its run ends. */
  readonly showsWork: (content: Content) => boolean
  /** Turns a content that shows work in progress into one for the ended run. */
  readonly closed?: (content: Content, run: Run, now: number) => Content
  /** What a content adds to the name of its target: a context, a name or a label. */
  readonly titleOf?: (content: Content) => string
  /** The right that a run needs for this content, besides the right to the channel. */
  readonly rightFor?: (content: Content) => NeededRight | null
  /** How it shows a run. Missing if it announces none. */
  readonly announcement?: RunAnnouncement
  /** Another run's announcement can hide this one's, which must then be repeated. */
  readonly repeatWhenHidden?: RepeatWhenHidden
  /** The content of a plain text on a thread. Refused comments are answered on this channel. */
  readonly replyContent?: (text: string) => Content
}

/**
 * What follows when an attempt ended without an answer:
 * - `confirm`: it is looked for this many times before it is sent again.
 * - `resend`: it cannot be looked for, so it is sent again with the same id.
 * - `hold`: it cannot be looked for, so a person decides.
 */
export type InDoubtPolicy =
  | { readonly policy: 'confirm'; readonly looks: 1 | 2 }
  | { readonly policy: 'resend' }
  | { readonly policy: 'hold' }

/** How a run's own outputs are told apart. */
export interface OutputKeys {
  /**
   * Equal for two outputs with the same target. If not given, every name of a round is a target.
   */
  readonly targetOf?: (output: NamedOutput) => string
  /** A look there lists several subjects, so the marker contains the subject too. */
  readonly markerNamesSubject?: true
}

export interface NamedOutput {
  readonly run: Run
  readonly repositoryId: string
  readonly name: string
  readonly content: Content
}

export interface NeededRight {
  /** `decision`: it decides about a merge. */
  readonly kind: 'context' | 'label' | 'decision'
  readonly value: string
}

/** See hidden-result.ts. */
export interface RepeatWhenHidden {
  /**
   * The name of the delivery that repeats an announcement. No run can use it for its own output.
   */
  readonly repeatName: string
  /** The name under which a content is shown. Only contents of the same name hide each other. */
  readonly nameOf: (content: Content) => string
  /** The target of the announcement of a run's present round. */
  readonly targetOf: (run: Run) => string
  /** Equal for two contents that show the same result. */
  readonly resultOf: (content: Content) => unknown
  readonly repeat: (run: Run, hiddenBy: string, now: number) => AnnouncedOutput
  /** The text that the marker key of a round's announcement is computed from. */
  readonly markerText: (run: Run, round: number) => string
}

/** The channels that this process knows. */
export interface KnownChannels {
  readonly all: readonly ChannelDeclaration[]
  /** For an unknown channel, such as one of a newer version, the declaration does no harm. */
  of(name: string): ChannelDeclaration
}

export function knownChannels(all: readonly ChannelDeclaration[]): KnownChannels {
  const byName = new Map(all.map((channel) => [channel.name, channel]))
  return { all, of: (name) => byName.get(name) ?? unknownChannel(name) }
}

/** This process creates, removes and gives back nothing of it. One that knows it continues. */
export function unknownChannel(name: string): ChannelDeclaration {
  return {
    name,
    kind: 'message',
    place: 'none',
    replacedBy: 'edit',
    keptCopy: null,
    looksFirst: false,
    inDoubt: { policy: 'hold' },
    progressWritesMax: null,
    peopleCanRemove: false,
    notifiesPeople: false,
    givesBack: false,
    isAllowedByDefault: false,
    identityOf: null,
    failureOf: () => null,
    output: {},
    showsWork: () => false,
  }
}
