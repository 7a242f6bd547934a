/** Every route of the simulated GitHub. */
import { appRoutes } from './app-routes.ts'
import { checkRunRoutes } from './check-run-routes.ts'
import { commentRoutes } from './comment-routes.ts'
import { labelRoutes } from './label-routes.ts'
import { repositoryRoutes } from './repository-routes.ts'
import { reviewRoutes } from './review-routes.ts'
import type { Route } from './route.ts'
import { statusRoutes } from './status-routes.ts'
import { threadRoutes } from './thread-routes.ts'
import { userRoutes } from './user-routes.ts'

export const allRoutes: readonly Route[] = [
  ...userRoutes,
  ...appRoutes,
  ...repositoryRoutes,
  ...threadRoutes,
  ...commentRoutes,
  ...statusRoutes,
  ...checkRunRoutes,
  ...labelRoutes,
  ...reviewRoutes,
]
