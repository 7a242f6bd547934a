/**
 * Who we are, and were: every numeric id this store ever published as. Never by login, which can be
 * given up and taken by somebody else.
 */
import { z } from 'zod'

export interface Authors {
  readonly userIds: ReadonlySet<number>
  readonly appIds: ReadonlySet<number>
}

/** A deleted account is null. */
export const authorForm = z.object({
  user: z.object({ id: z.number() }).nullish(),
  performed_via_github_app: z.object({ id: z.number() }).nullish(),
})

export function isByUs(written: z.infer<typeof authorForm>, authors: Authors): boolean {
  const { user, performed_via_github_app: app } = written
  return (
    (user != null && authors.userIds.has(user.id)) || (app != null && authors.appIds.has(app.id))
  )
}
