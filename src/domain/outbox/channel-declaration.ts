/**
 * What a channel is, in one value. The domain, the stores and the publisher take this value and
 * know no channel by name: a new channel brings its own.
 *
 * What must hold: it is made of constants and pure functions. What needs a connection or
 * credentials is the channel itself (channel.ts).
 */
import type { Run } from '../run.ts'
import type { AnnouncedOutput, RunAnnouncement } from './announce.ts'
import type { Delivery, DeliveryKind } from './delivery.ts'
import type { SendFailure } from './outcome.ts'

/** What is published, in the channel's stored form. */
export type Content = Readonly<Record<string, unknown>>

export interface ChannelDeclaration {
  readonly name: string
  /** Of what is published there on request. What announces a run is always a state. */
  readonly kind: DeliveryKind
  /** Where it goes, and so what there has to be: a pull request or issue, a commit, an address. */
  readonly place: 'thread' | 'commit' | 'address' | 'none'
  /**
   * How a newer version takes the place of an older one:
   * - `edit`: what is there is changed.
   * - `create`: every write is a new one, and the newest shows.
   * - `set`: it is a value that people set as well; to write it twice changes nothing.
   */
  readonly replacedBy: 'edit' | 'create' | 'set'
  /** Which one stays where two were made; the other is removed. Null: no copy is looked for. */
  readonly keptCopy: 'oldest' | 'newest' | null
  /** One from before our time is looked for before the first create. */
  readonly looksFirst: boolean
  readonly inDoubt: InDoubtPolicy
  /** Most writes per target that only show progress; null: no limit. */
  readonly progressWritesMax: number | null
  /** Where it is missing, a person may have removed it. */
  readonly peopleCanRemove: boolean
  /** People are notified of each: the other side may refuse what comes too fast. */
  readonly notifiesPeople: boolean
  /** Runs of several subjects share a target; one without a result leaves it to the one before. */
  readonly givesBack: boolean
  /** Nobody has to allow it for a run to publish there. */
  readonly isAllowedByDefault: boolean
  /** Whose limits a write counts against. Null: the other side has to be asked (`admission`). */
  readonly identityOf: ((place: Pick<Delivery, 'address'>) => string) | null
  /** What an error of its connection means; null for one that is not its connection's. */
  readonly failureOf: (error: unknown) => SendFailure | null
  readonly output: OutputKeys
  /** Whether a content says that work is under way, which the end of its run has to close. */
  readonly showsWork: (content: Content) => boolean
  /** What a content that shows work has to say once its run has ended. */
  readonly closed?: (content: Content, run: Run, now: number) => Content
  /** What a content adds to its place: a context, a name, a label. */
  readonly titleOf?: (content: Content) => string
  /** What a run needs a right for, besides the channel. */
  readonly rightFor?: (content: Content) => NeededRight | null
  /** How it shows a run; not there where it shows none. */
  readonly announcement?: RunAnnouncement
  /** Its announcement can be covered by another run's, and is repeated then. */
  readonly covering?: Covering
  /** Plain words on a thread: whoever asked there is answered on this channel. */
  readonly wordsOf?: (text: string) => Content
}

/**
 * What follows when an attempt ended without an answer:
 * - `confirm`: it is looked for, so many times, before it is sent again.
 * - `resend`: it cannot be looked for and is sent again, under the same id.
 * - `hold`: it cannot be looked for; a person decides.
 */
export type InDoubtPolicy =
  | { readonly policy: 'confirm'; readonly looks: 1 | 2 }
  | { readonly policy: 'resend' }
  | { readonly policy: 'hold' }

/** By what something that a run publishes itself is known. */
export interface OutputKeys {
  /** Equal for two that are one target; not given: every name of a run and round is its own. */
  readonly targetOf?: (output: NamedOutput) => string
  /** Several subjects are in one list there, so the marker names the subject too. */
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

/** GitHub shows the newest of a name on a commit, and one that is completed stays as it is. */
export interface Covering {
  /** Of the delivery that repeats an announcement; no run can give its own output this name. */
  readonly repeatName: string
  /** Under which name a content shows. */
  readonly nameOf: (content: Content) => string
  /** Of the announcement of a run's present round. */
  readonly targetOf: (run: Run) => string
  /** Equal where one is as good as another. */
  readonly resultOf: (content: Content) => unknown
  readonly repeat: (run: Run, coveredBy: string, now: number) => AnnouncedOutput
  /** What the marker of a round's announcement is made from. */
  readonly markerText: (run: Run, round: number) => string
}

/** The channels that this process knows. */
export interface KnownChannels {
  readonly all: readonly ChannelDeclaration[]
  /** For one that it does not know, as of a newer version: what can do no harm. */
  of(name: string): ChannelDeclaration
}

export function knownChannels(all: readonly ChannelDeclaration[]): KnownChannels {
  const byName = new Map(all.map((channel) => [channel.name, channel]))
  return { all, of: (name) => byName.get(name) ?? unknownChannel(name) }
}

/** Nothing of it is made, removed or given back here; whoever knows it goes on with it. */
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
