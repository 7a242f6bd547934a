/**
 * The list of all channels to GitHub: what each declares, what a run may publish on it, and the
 * channels themselves. A new channel is one file, and its class in the list here.
 */
import type { z } from 'zod'
import type { Admission, Channel } from '../channel.ts'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import { knownChannels } from '../domain/outbox/channel-declaration.ts'
import { allRightsOn, defaultRightsOn } from '../domain/outbox/publish-rights.ts'
import { InvalidInputError } from '../errors.ts'
import { findingsOf } from '../validation/findings.ts'
import { CheckChannel } from './github-check.ts'
import { CommentChannel } from './github-comment.ts'
import { LabelChannel } from './github-label.ts'
import { ReviewChannel } from './github-review.ts'
import { StatusChannel } from './github-status.ts'
import { inRepositories, type ChannelWords, type PublishForm } from './on-github.ts'
import type { ChannelParts } from './parts.ts'

const classes = [CommentChannel, StatusChannel, CheckChannel, LabelChannel, ReviewChannel] as const

type ChannelClass = (typeof classes)[number]
export type ChannelName = ChannelClass['declaration']['name']
type ClassOf<C extends ChannelName> = Extract<
  ChannelClass,
  { readonly declaration: { readonly name: C } }
>

/** In the order in which a run is announced on them. */
export const githubDeclarations: readonly ChannelDeclaration[] = classes.map(
  ({ declaration }) => declaration,
)

/** The declaration of a delivery's channel, for those who show deliveries. */
export const channelsByName = knownChannels(githubDeclarations)

export const githubChannels: readonly ChannelName[] = classes.map(
  ({ declaration }) => declaration.name,
)

/** How sentences name what a channel publishes. Another process may know more channels. */
export const wordsByChannel: ReadonlyMap<string, ChannelWords> = new Map(
  classes.map(({ declaration, words }) => [declaration.name, words]),
)

/** What a run may publish on each channel. */
export const publishForms = Object.fromEntries(
  classes.map(({ declaration, publish }) => [declaration.name, publish]),
) as unknown as { readonly [C in ChannelName]: ClassOf<C>['publish'] }

/** The fields of a channel's content, in an HTTP request. */
export type GivenContent<C extends ChannelName> = z.infer<ClassOf<C>['publish']['form']>

type StoredContent<C extends ChannelName> = ReturnType<ClassOf<C>['publish']['toStored']>

/** Throws InvalidInputError `invalid_content` that names the first invalid field. */
export function parseContent<C extends ChannelName>(channel: C, given: unknown): StoredContent<C> {
  const { form, toStored } = publishForms[channel] as PublishForm
  const read = form.safeParse(given)
  if (read.success) return toStored(read.data) as StoredContent<C>
  const [found] = findingsOf(form, read.error.issues, given)
  const field = found?.path.map(String).join('.') ?? ''
  const name = field === '' ? 'content' : field
  throw new InvalidInputError('invalid_content', name, `${name} ${found?.message ?? 'is wrong'}`)
}

export const defaultRights = defaultRightsOn(githubDeclarations)
export const allRights = allRightsOn(githubDeclarations)

/** `admission`: which identity they act as. Only the publisher needs it. */
export function createGitHubChannels(
  parts: ChannelParts,
  admission?: Admission,
): ReadonlyMap<string, Channel> {
  const channels = classes.map((Class) => inRepositories(new Class(parts), admission))
  return new Map(channels.map((channel) => [channel.declaration.name, channel]))
}
